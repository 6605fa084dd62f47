// SPDX-License-Identifier: GPL-2.0-or-later
// TAP version 13: one test for each record, and a subtest with its probes.
#include <string.h>

#include "verifier/report_formats.h"

/*
 * A plan is never empty: net-verify is given at least one record. No line ever
 * carries a directive: what could not be judged is "not ok", and a description is made
 * of digests and words of ours, none of which has a '#'.
 *
 * Version 13, because prove takes 14 for an error (Test::Harness 3.44): with it nothing
 * would pass. Its readers pass over the indented lines of a subtest, whose outcome the
 * record's own line has.
 */

/* A YAML scalar in single quotes: a quote inside is doubled. */
static void put_quoted(struct buffer *out, const char *text)
{
	buffer_add_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buffer_add_byte(out, '\'');
		buffer_add_byte(out, *text >= 0x20 && *text <= 0x7e ? *text : '?');
	}
	buffer_add_byte(out, '\'');
}

static void put_finding(struct buffer *out, const struct finding *finding)
{
	buffer_print(out,
		     "    - code: %s\n      at: ", finding_kinds[finding->code].name);
	put_quoted(out, finding->pointer);
	buffer_print(out, "\n      in: %s\n      expected: ", finding->document);
	put_quoted(out, finding->expected);
	buffer_print(out, "\n      found: ");
	put_quoted(out, finding->found);
	buffer_print(out, "\n");
}

static void put_probes(struct buffer *out, const struct record *record)
{
	size_t all, good, number = 0;

	record_count_probes(record, &all, &good);
	buffer_print(out, "    1..%zu\n", all);
	for (size_t i = 0; i < record->phase_count; i++)
		for (size_t k = 0; k < record->phases[i].probe_count; k++) {
			const struct record_probe *probe = &record->phases[i].probes[k];
			const char *word = report_probe_word(probe);

			buffer_print(out, "    %s %zu - %s: %s, observed %s, basis %s\n",
				     strcmp(word, "ok") == 0 ? "ok" : "not ok", ++number,
				     probe->id, word, observed_names[probe->observed],
				     basis_names[probe->basis]);
		}
}

static void begin_tap(struct buffer *out, size_t count)
{
	buffer_print(out, "TAP version 13\n1..%zu\n", count);
}

static void add_tap(struct buffer *out, const struct report_entry *entry, size_t index)
{
	const struct verdict *verdict = entry->verdict;
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];

	if (verdict && verdict->judgement != JUDGEMENT_REFUSED) {
		buffer_print(out, "# Subtest: %s\n", entry->record_sha256);
		put_probes(out, &entry->case_->record);
	}
	buffer_print(out, "%s %zu - %s: %s\n",
		     verdict && verdict->judgement == JUDGEMENT_VERIFIED ? "ok"
									 : "not ok",
		     index + 1, entry->record_sha256,
		     verdict ? judgement_names[verdict->judgement] : "could not tell");
	if (verdict && !verdict->findings.count)
		return;
	buffer_print(out, "  ---\n");
	if (verdict) {
		buffer_print(out, "  findings:\n");
		for (size_t i = 0; i < verdict->findings.count; i++)
			put_finding(out, &verdict->findings.items[i]);
	} else {
		buffer_print(out, "  reason: ");
		put_quoted(out, diag_render(entry->undecided, line, sizeof(line)));
		buffer_add_byte(out, '\n');
	}
	buffer_print(out, "  ...\n");
}

const struct report_format report_tap = {
	.name = "tap", .begin = begin_tap, .add = add_tap};
