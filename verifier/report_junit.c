// SPDX-License-Identifier: GPL-2.0-or-later
// JUnit XML: one suite for each record, one case for the record and each probe.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/catalog.h"
#include "verifier/markup.h"
#include "verifier/report_formats.h"

/*
 * An observation that does not match is a failure; one that is not conclusive, and a
 * record that could not be judged, an error. No case is ever "skipped". A suite has
 * at least the case "record", so none is empty.
 */

static void open_problem(struct buffer *out, const char *element, const char *type,
			 const char *message)
{
	buffer_print(out, "\n      <%s type=\"", element);
	markup_add(out, type);
	buffer_print(out, "\" message=\"");
	markup_add(out, message);
	buffer_print(out, "\">");
}

static void add_findings(struct buffer *out, const struct verdict *verdict)
{
	bool is_error = verdict->judgement == JUDGEMENT_INCONCLUSIVE;

	open_problem(out, is_error ? "error" : "failure",
		     judgement_names[verdict->judgement], "not verified");
	for (size_t i = 0; i < verdict->findings.count; i++) {
		const struct finding *finding = &verdict->findings.items[i];

		buffer_print(out, "\n%s at %s", finding_kinds[finding->code].name,
			     finding->document);
		markup_add(out, finding->pointer);
		buffer_print(out, ": expected ");
		markup_add(out, finding->expected);
		buffer_print(out, ", found ");
		markup_add(out, finding->found);
	}
	buffer_print(out, "\n      </%s>", is_error ? "error" : "failure");
}

/* Readers that find a case without a time drop it, or the whole report. */
static void add_time(struct buffer *out, int64_t us)
{
	buffer_print(out, "time=\"%" PRId64 ".%06" PRId64 "\"", us / 1000000,
		     us % 1000000);
}

static void add_record_case(struct buffer *out, const struct report_entry *entry)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];

	buffer_print(out, "    <testcase classname=\"netproof\" name=\"record\" "
			  "time=\"0\">");
	if (!entry->verdict) {
		open_problem(out, "error", "could-not-tell",
			     diag_render(entry->undecided, line, sizeof(line)));
		buffer_print(out, "</error>");
	} else if (entry->verdict->judgement != JUDGEMENT_VERIFIED) {
		add_findings(out, entry->verdict);
	}
	buffer_print(out, "\n    </testcase>\n");
}

static void add_probe_case(struct buffer *out, const struct record_phase *phase,
			   const struct record_probe *probe, size_t number)
{
	const char *word = report_probe_word(probe);
	char message[160];

	buffer_print(out, "    <testcase classname=\"netproof.%s\" name=\"%s %zu\" ",
		     phase_names[phase->phase], probe->id, number);
	add_time(out, probe->evidence.elapsed_us);
	buffer_add_byte(out, '>');
	if (strcmp(word, "ok") != 0) {
		bool is_error = probe->matched;

		snprintf(message, sizeof(message), "expected %s, observed %s, basis %s",
			 expectation_names[probe->expect],
			 observed_names[probe->observed], basis_names[probe->basis]);
		open_problem(out, is_error ? "error" : "failure", word, message);
		buffer_print(out, "</%s>", is_error ? "error" : "failure");
	}
	buffer_print(out, "</testcase>\n");
}

/* How many cases a suite has, and how many of them fail or are in error. */
struct tally {
	size_t tests, failures, errors;
	int64_t elapsed_us;
};

static struct tally count_cases(const struct report_entry *entry)
{
	struct tally tally = {.tests = 1};
	const struct record *record;

	if (!entry->verdict || entry->verdict->judgement == JUDGEMENT_INCONCLUSIVE)
		tally.errors = 1;
	else if (entry->verdict->judgement != JUDGEMENT_VERIFIED)
		tally.failures = 1;
	if (!entry->verdict || entry->verdict->judgement == JUDGEMENT_REFUSED)
		return tally;
	record = &entry->case_->record;
	for (size_t i = 0; i < record->phase_count; i++)
		for (size_t k = 0; k < record->phases[i].probe_count; k++) {
			const struct record_probe *probe = &record->phases[i].probes[k];

			tally.tests++;
			tally.failures += !probe->matched;
			tally.errors += probe->matched && !probe->conclusive;
			tally.elapsed_us += probe->evidence.elapsed_us;
		}
	return tally;
}

static void begin_junit(struct buffer *out, size_t count)
{
	(void)count;
	buffer_print(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
}

static void add_junit(struct buffer *out, const struct report_entry *entry, size_t index)
{
	struct tally tally = count_cases(entry);
	size_t number = 0;

	(void)index;
	buffer_print(out, "  <testsuite name=\"");
	markup_add(out, entry->record_sha256);
	buffer_print(out,
		     "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" ",
		     tally.tests, tally.failures, tally.errors);
	add_time(out, tally.elapsed_us);
	buffer_print(out, ">\n");
	add_record_case(out, entry);
	if (entry->verdict && entry->verdict->judgement != JUDGEMENT_REFUSED) {
		const struct record *record = &entry->case_->record;

		for (size_t i = 0; i < record->phase_count; i++)
			for (size_t k = 0; k < record->phases[i].probe_count; k++)
				add_probe_case(out, &record->phases[i],
					       &record->phases[i].probes[k], ++number);
	}
	buffer_print(out, "  </testsuite>\n");
}

static void end_junit(struct buffer *out)
{
	buffer_print(out, "</testsuites>\n");
}

const struct report_format report_junit = {
	.name = "junit", .begin = begin_junit, .add = add_junit, .end = end_junit};
