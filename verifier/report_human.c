// SPDX-License-Identifier: GPL-2.0-or-later
// The report an operator reads at a glance.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/moment.h"
#include "verifier/report_formats.h"

#define SHORT_DIGEST 12 /* digits of a digest that a person compares */

static void add_probe(struct buffer *out, const struct record_probe *probe)
{
	buffer_print(out, "    %-44s %-20s %-20s %-14s %s\n", probe->id,
		     expectation_names[probe->expect], observed_names[probe->observed],
		     basis_names[probe->basis], report_probe_word(probe));
}

/* Of probes that are alike, one line each for those that are not well, and a count
 * for the rest: 32 endpoints fill no screen. */
static void add_phase(struct buffer *out, const struct record_phase *phase)
{
	char started[MOMENT_SIZE], completed[MOMENT_SIZE];
	size_t repeated = 0;

	buffer_print(out, "\n  %s  %s to %s\n", phase_names[phase->phase],
		     moment_format(phase->started_at_unix, started),
		     moment_format(phase->completed_at_unix, completed));
	for (size_t i = 0; i < phase->probe_count; i++) {
		const struct record_probe *probe = &phase->probes[i];
		bool is_again = i && strcmp(probe[-1].id, probe->id) == 0;
		bool is_well = strcmp(report_probe_word(probe), "ok") == 0;

		if (is_again && is_well) {
			repeated++;
			continue;
		}
		add_probe(out, probe);
	}
	if (repeated)
		buffer_print(out, "    and %zu more of the same probes, all ok\n",
			     repeated);
}

static void add_record(struct buffer *out, const struct record *record)
{
	char issued[MOMENT_SIZE], expires[MOMENT_SIZE];

	buffer_print(out, "\n  machine %.*s, boot %s, kernel %s\n", SHORT_DIGEST,
		     record->host.machine_id_sha256, record->host.boot_id,
		     record->host.kernel);
	buffer_print(out, "  release %s (%.*s), window %s to %s\n",
		     record->release.version, SHORT_DIGEST,
		     record->release.source_revision,
		     moment_format(record->inputs.issued_at_unix, issued),
		     moment_format(record->inputs.expires_at_unix, expires));
	for (size_t i = 0; i < record->phase_count; i++)
		add_phase(out, &record->phases[i]);
	buffer_print(out, "\n  not covered:");
	for (size_t i = 0; i < record->not_covered_count; i++)
		buffer_print(out, " %s", record->not_covered[i]);
	buffer_print(out, "\n");
}

static void add_finding(struct buffer *out, const struct finding *finding)
{
	const struct finding_kind *kind = &finding_kinds[finding->code];

	buffer_print(out, "\n  %s: %s\n    at %s%s\n    expected: %s\n    found: %s\n",
		     kind->name, kind->title, finding->document, finding->pointer,
		     finding->expected, finding->found);
	buffer_print(out, "    next: %s\n", kind->next);
}

static void add_human(struct buffer *out, const struct report_entry *entry, size_t index)
{
	const struct verdict *verdict = entry->verdict;
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	size_t all = 0, good = 0;

	if (index)
		buffer_add_byte(out, '\n');
	if (!verdict) {
		buffer_print(out, "%s: could not tell\n  %s\n", entry->record_sha256,
			     diag_render(entry->undecided, line, sizeof(line)));
		return;
	}
	buffer_print(out, "%s: %s\n", entry->record_sha256,
		     judgement_names[verdict->judgement]);
	buffer_print(out, "  %zu of %zu checks passed", verdict->checks_passed,
		     verdict->checks_built_in);
	if (verdict->judgement != JUDGEMENT_REFUSED) {
		record_count_probes(&entry->case_->record, &all, &good);
		buffer_print(out,
			     "; %zu of %zu probes as expected, with their cause shown",
			     good, all);
	}
	buffer_print(out, "\n  %s\n", report_meaning(verdict->judgement));
	/* The reasons come first: they are what the reader has to act on. */
	for (size_t i = 0; i < verdict->findings.count; i++)
		add_finding(out, &verdict->findings.items[i]);
	/* A refused record's table would be somebody's claim, not an observation. */
	if (verdict->judgement != JUDGEMENT_REFUSED)
		add_record(out, &entry->case_->record);
}

const struct report_format report_human = {.name = "human", .add = add_human};
