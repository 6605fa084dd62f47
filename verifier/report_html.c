// SPDX-License-Identifier: GPL-2.0-or-later
// One self-contained page: no script, no outside reference.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/catalog.h"
#include "verifier/markup.h"
#include "common/moment.h"
#include "verifier/report_formats.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<title>netproof: evidence of network enforcement</title>\n<style>\n"
	"body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;"
	"max-width:76rem;margin:2rem auto;padding:0 1rem}\n"
	"h1{font-size:1.3rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin-top:2rem}"
	"\n"
	"table{border-collapse:collapse;width:100%;margin:.5rem 0}\n"
	"th,td{border:1px solid #d0d7de;padding:.3rem .5rem;text-align:left;"
	"vertical-align:top}\nth{background:#f6f8fa}\ncode{font-size:.92em}\n"
	".verdict{display:inline-block;padding:.1rem .6rem;border-radius:.3rem;"
	"color:#fff;background:#a40e26}\n.verdict.verified{background:#1a7f37}\n"
	".verdict.inconclusive,.verdict.unknown{background:#8a5a00}\n"
	".ok{color:#1a7f37}.bad{color:#a40e26;font-weight:600}"
	".open{color:#8a5a00;font-weight:600}\n"
	"table.probes{table-layout:fixed;font-size:.87rem}td{overflow-wrap:anywhere}\n"
	"table.probes th:nth-child(1){width:5.8rem}"
	"table.probes th:nth-child(2){width:16rem}\n"
	"table.probes th:nth-child(3),table.probes th:nth-child(4){width:10.2rem}"
	"table.probes th:nth-child(5){width:6.6rem}\n"
	"h3{font-size:.95rem;margin:1.2rem 0 .3rem}\n"
	"@media print{body{margin:0;max-width:none}}\n"
	".muted{color:#57606a}svg{max-width:100%;height:auto}\n"
	"svg text{font:12px system-ui,sans-serif;fill:#1b1f24}\n"
	"</style></head><body>\n";

static void begin_html(struct buffer *out, size_t count)
{
	(void)count;
	buffer_add(out, head, sizeof(head) - 1);
}

static void end_html(struct buffer *out)
{
	buffer_print(out,
		     "<p class=\"muted\">What was observed at these times, in one boot, "
		     "by one release. Nothing on this page approves anything.</p>\n"
		     "</body></html>\n");
}

static const char *class_of(const struct record_probe *probe)
{
	if (!probe->matched)
		return "bad";
	return probe->conclusive ? "ok" : "open";
}

static bool is_well(const struct record_probe *probe)
{
	return probe->matched && probe->conclusive;
}

/* --- the matrix: positions down, phases across ------------------------------------- */

struct cell {
	size_t all, good;
	const struct record_probe *first_bad;
};

static struct cell count_cell(const struct record_phase *phase, int position)
{
	struct cell cell = {0};

	for (size_t i = 0; i < phase->probe_count; i++) {
		const struct record_probe *probe = &phase->probes[i];
		const struct catalog_probe *entry =
			catalog_find(catalog_builtin(), probe->id);

		if (!entry || entry->position != position)
			continue;
		cell.all++;
		cell.good += is_well(probe);
		if (!is_well(probe) && (!cell.first_bad || cell.first_bad->matched))
			cell.first_bad = probe;
	}
	return cell;
}

/* A cell that is not well names a probe: the gravest first. */
static void add_cell(struct buffer *out, const struct cell *cell)
{
	if (!cell->all) {
		buffer_print(out, "<td class=\"muted\">&ndash;</td>");
		return;
	}
	buffer_print(out, "<td class=\"%s\">%zu of %zu",
		     cell->first_bad ? class_of(cell->first_bad) : "ok", cell->good,
		     cell->all);
	if (cell->first_bad)
		buffer_print(out, "<br>%s: <code>%s</code>",
			     report_probe_word(cell->first_bad), cell->first_bad->id);
	buffer_print(out, "</td>");
}

static void add_matrix(struct buffer *out, const struct record *record)
{
	buffer_print(out, "<h2>Probes by position and phase</h2>\n<table><tr><th>position"
			  "</th>");
	for (size_t i = 0; i < record->phase_count; i++)
		buffer_print(out, "<th>%s</th>", phase_names[record->phases[i].phase]);
	buffer_print(out, "</tr>\n");
	for (int position = POSITION_WORKER; position < POSITION_COUNT; position++) {
		buffer_print(out, "<tr><th>%s</th>", position_names[position]);
		for (size_t i = 0; i < record->phase_count; i++) {
			struct cell cell = count_cell(&record->phases[i], position);

			add_cell(out, &cell);
		}
		buffer_print(out, "</tr>\n");
	}
	buffer_print(out, "</table>\n");
}

/* --- the timeline ------------------------------------------------------------------ */

#define LINE_WIDTH 900
#define LINE_LEFT 110
#define ROW_HEIGHT 26

/* Where a moment lies on the line, from the record's start to its end. */
static int64_t place(const struct record *record, int64_t at)
{
	int64_t whole = record->completed_at_unix - record->started_at_unix;
	int64_t from = at - record->started_at_unix;

	if (whole <= 0 || from <= 0)
		return LINE_LEFT;
	if (from >= whole)
		return LINE_LEFT + LINE_WIDTH;
	return LINE_LEFT + from * LINE_WIDTH / whole;
}

static void add_bar(struct buffer *out, const struct record *record, const char *name,
		    const char *colour, size_t row, int64_t from, int64_t to)
{
	int64_t left = place(record, from), right = place(record, to);
	size_t top = row * ROW_HEIGHT;

	if (right - left < 2)
		right = left + 2;
	buffer_print(out, "<text x=\"0\" y=\"%zu\">%s</text>", top + 16, name);
	buffer_print(out,
		     "<rect x=\"%" PRId64 "\" y=\"%zu\" width=\"%" PRId64
		     "\" height=\"16\" rx=\"2\" fill=\"%s\"><title>%s: %" PRId64
		     " s</title></rect>\n",
		     left, top + 4, right - left, colour, name, to - from);
}

static void add_timeline(struct buffer *out, const struct record *record)
{
	static const char *const colours[] = {"#54aeff", "#4ac26b", "#d4a72c", "#c297ff"};
	char start[MOMENT_SIZE], end[MOMENT_SIZE];
	size_t rows = record->phase_count + 1;
	int64_t expiry = place(record, record->inputs.expires_at_unix);

	buffer_print(
		out,
		"<h2>Timeline</h2>\n<svg role=\"img\" aria-label=\"The window and the "
		"four phases in time\" viewBox=\"0 0 %d %zu\">\n",
		LINE_LEFT + LINE_WIDTH + 10, rows * ROW_HEIGHT + 8);
	add_bar(out, record, "window", "#afb8c1", 0, record->inputs.issued_at_unix,
		record->inputs.expires_at_unix);
	for (size_t i = 0; i < record->phase_count; i++)
		add_bar(out, record, phase_names[record->phases[i].phase],
			colours[i % ARRAY_SIZE(colours)], i + 1,
			record->phases[i].started_at_unix,
			record->phases[i].completed_at_unix);
	buffer_print(
		out,
		"<line x1=\"%" PRId64 "\" y1=\"0\" x2=\"%" PRId64
		"\" y2=\"%zu\" stroke=\"#a40e26\" stroke-dasharray=\"4 3\"/>\n</svg>\n",
		expiry, expiry, rows * ROW_HEIGHT);
	buffer_print(out,
		     "<p class=\"muted\">%s to %s; the dashed line is the window's end. "
		     "A bar tells its seconds when it is pointed at.</p>\n",
		     moment_format(record->started_at_unix, start),
		     moment_format(record->completed_at_unix, end));
}

/* --- what bounded each denial ------------------------------------------------------ */

static void add_numbers(struct buffer *out, const struct record_probe *probe)
{
	const struct evidence *evidence = &probe->evidence;

	switch (probe->basis) {
	case BASIS_CONTROL:
		buffer_print(out,
			     "%s: %s in %" PRId64 " &micro;s before, %s in %" PRId64
			     " &micro;s after",
			     evidence->control.held ? "control's own flow" : "control",
			     observed_names[evidence->control.before.outcome],
			     evidence->control.before.elapsed_us,
			     observed_names[evidence->control.after.outcome],
			     evidence->control.after.elapsed_us);
		break;
	case BASIS_DENY_COUNTER:
		buffer_print(
			out,
			"alone in flight; the kernel's deny counter went from %" PRId64
			" to %" PRId64,
			evidence->deny_counter.packets_before,
			evidence->deny_counter.packets_after);
		break;
	case BASIS_LISTENER:
		buffer_print(out,
			     "the listener accepted its %" PRId64
			     " controls and nothing else",
			     evidence->listener.accepted);
		break;
	case BASIS_LISTENER_GONE:
		buffer_print(out,
			     "reached before (%" PRId64 " times); %" PRId64
			     " sockets listen there now",
			     evidence->listener_gone.reached_before,
			     evidence->listener_gone.listening_now);
		break;
	case BASIS_NO_ROUTE:
		buffer_print(out, "%" PRId64 " routes of that family",
			     evidence->no_route.routes);
		break;
	case BASIS_REFUSAL:
		buffer_print(out, "the site's own proxy refused");
		break;
	case BASIS_OUTCOME:
		buffer_print(out, "the observation itself");
		break;
	default:
		buffer_print(out, "nothing shows the cause");
		break;
	}
}

/* Whether two neighbours would be the same row, numbers apart: of 32 endpoints whose
 * probes are well, one row is enough. */
static bool is_alike(const struct record_probe *one, const struct record_probe *other)
{
	return strcmp(one->id, other->id) == 0 && is_well(one) && is_well(other) &&
	       one->observed == other->observed && one->basis == other->basis;
}

static void add_row(struct buffer *out, const struct record_probe *probe, size_t times)
{
	buffer_print(out, "<tr><td class=\"%s\">%s</td><td><code>%s</code>",
		     class_of(probe), report_probe_word(probe), probe->id);
	if (times > 1)
		buffer_print(out, " &times; %zu endpoints", times);
	buffer_print(out, "</td><td>%s</td><td>%s</td><td>%s</td><td>",
		     expectation_names[probe->expect], observed_names[probe->observed],
		     basis_names[probe->basis]);
	if (times > 1 && probe->basis != BASIS_OUTCOME)
		buffer_print(out, "the first: ");
	add_numbers(out, probe);
	buffer_print(out, "</td></tr>\n");
}

static void add_probes(struct buffer *out, const struct record *record)
{
	buffer_print(out, "<h2>What bounded each probe</h2>\n");
	for (size_t i = 0; i < record->phase_count; i++) {
		const struct record_phase *phase = &record->phases[i];

		buffer_print(out,
			     "<h3>%s</h3>\n<table class=\"probes\"><tr><th></th>"
			     "<th>probe</th><th>expected</th><th>observed</th><th>basis"
			     "</th><th>what it rests on</th></tr>\n",
			     phase_names[phase->phase]);
		for (size_t k = 0, next; k < phase->probe_count; k = next) {
			for (next = k + 1;
			     next < phase->probe_count &&
			     is_alike(&phase->probes[k], &phase->probes[next]);)
				next++;
			add_row(out, &phase->probes[k], next - k);
		}
		buffer_print(out, "</table>\n");
	}
}

static void add_findings(struct buffer *out, const struct findings *findings)
{
	buffer_print(out, "<h2>Why not</h2>\n<table><tr><th>code</th><th>where</th><th>"
			  "expected</th><th>found</th><th>next</th></tr>\n");
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		const struct finding_kind *kind = &finding_kinds[finding->code];

		buffer_print(out, "<tr><td><code>%s</code><br>", kind->name);
		markup_add(out, kind->title);
		buffer_print(out, "</td><td><code>%s", finding->document);
		markup_add(out, finding->pointer);
		buffer_print(out, "</code></td><td>");
		markup_add(out, finding->expected);
		buffer_print(out, "</td><td>");
		markup_add(out, finding->found);
		buffer_print(out, "</td><td>");
		markup_add(out, kind->next);
		buffer_print(out, "</td></tr>\n");
	}
	buffer_print(out, "</table>\n");
}

static void add_facts(struct buffer *out, const struct record *record)
{
	buffer_print(out,
		     "<p>Machine <code>%.12s</code>, boot <code>%s</code>, kernel "
		     "<code>",
		     record->host.machine_id_sha256, record->host.boot_id);
	markup_add(out, record->host.kernel);
	buffer_print(out, "</code>, release <code>");
	markup_add(out, record->release.version);
	buffer_print(out, "</code>. Not covered:");
	for (size_t i = 0; i < record->not_covered_count; i++)
		buffer_print(out, "%s <code>%s</code>", i ? "," : "",
			     record->not_covered[i]);
	buffer_print(out, ".</p>\n");
}

static void add_html(struct buffer *out, const struct report_entry *entry, size_t index)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	const struct verdict *verdict = entry->verdict;
	size_t all = 0, good = 0;

	(void)index;
	buffer_print(out, "<h1>Record <code>");
	markup_add(out, entry->record_sha256);
	buffer_print(out, "</code></h1>\n<p><span class=\"verdict %s\">%s</span> ",
		     verdict ? judgement_names[verdict->judgement] : "unknown",
		     verdict ? judgement_names[verdict->judgement] : "could not tell");
	if (!verdict) {
		markup_add(out, diag_render(entry->undecided, line, sizeof(line)));
		buffer_print(out, "</p>\n");
		return;
	}
	buffer_print(out, "%zu of %zu checks passed", verdict->checks_passed,
		     verdict->checks_built_in);
	if (verdict->judgement != JUDGEMENT_REFUSED) {
		record_count_probes(&entry->case_->record, &all, &good);
		buffer_print(out,
			     "; %zu of %zu probes as expected, with their cause shown",
			     good, all);
	}
	buffer_print(out, "</p>\n");
	if (verdict->findings.count)
		add_findings(out, &verdict->findings);
	/* A refused record's tables would be somebody's claim, not an observation. */
	if (verdict->judgement == JUDGEMENT_REFUSED)
		return;
	add_facts(out, &entry->case_->record);
	add_matrix(out, &entry->case_->record);
	add_timeline(out, &entry->case_->record);
	add_probes(out, &entry->case_->record);
}

const struct report_format report_html = {
	.name = "html", .begin = begin_html, .add = add_html, .end = end_html};
