// SPDX-License-Identifier: GPL-2.0-or-later
// One self-contained page: no script, no outside reference.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/catalog.h"
#include "verifier/markup.h"
#include "verifier/page.h"
#include "common/moment.h"
#include "common/version.h"
#include "verifier/report_formats.h"

static void begin_html(struct buffer *out, size_t count)
{
	buffer_print(out, "%s", page_head);
	buffer_print(out,
		     "<p class=\"faint\">%zu record%s, judged by net-verify "
		     "%s from files alone.</p>\n",
		     count, count == 1 ? "" : "s", NETPROOF_VERSION);
}

static void end_html(struct buffer *out)
{
	buffer_print(out,
		     "</main>\n<footer><p class=\"faint\">What was observed at these "
		     "times, in one boot, by one release. Nothing on this page approves "
		     "anything.</p></footer>\n</body></html>\n");
}

static const char *class_of(const struct record_probe *probe)
{
	if (!probe->matched)
		return "bad";
	return probe->conclusive ? "good" : "open";
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
		buffer_print(out, "<td class=\"faint\">&ndash;</td>");
		return;
	}
	buffer_print(out, "<td class=\"%s\">%zu of %zu",
		     cell->first_bad ? class_of(cell->first_bad) : "good", cell->good,
		     cell->all);
	if (cell->first_bad)
		buffer_print(out, "<br>%s: <code>%s</code>",
			     report_probe_word(cell->first_bad), cell->first_bad->id);
	buffer_print(out, "</td>");
}

static void add_matrix(struct buffer *out, const struct record *record)
{
	buffer_print(out, "<h3>Probes by position and phase</h3>\n<div class=\"wide\">"
			  "<table class=\"matrix\"><thead><tr><th scope=\"col\">position"
			  "</th>");
	for (size_t i = 0; i < record->phase_count; i++)
		buffer_print(out, "<th scope=\"col\">%s</th>",
			     phase_names[record->phases[i].phase]);
	buffer_print(out, "</tr></thead><tbody>\n");
	for (int position = POSITION_WORKER; position < POSITION_COUNT; position++) {
		buffer_print(out, "<tr><th scope=\"row\">%s</th>",
			     position_names[position]);
		for (size_t i = 0; i < record->phase_count; i++) {
			struct cell cell = count_cell(&record->phases[i], position);

			add_cell(out, &cell);
		}
		buffer_print(out, "</tr>\n");
	}
	buffer_print(out, "</tbody></table></div>\n");
}

/* --- the timeline ------------------------------------------------------------------ */

/* Where a moment lies between the first and the last that are shown, in thousandths. */
static int place(const struct record *record, int64_t at)
{
	int64_t first = record->inputs.issued_at_unix;
	int64_t whole = record->completed_at_unix - first;

	if (whole <= 0 || at <= first)
		return 0;
	return at - first >= whole ? 1000 : (int)((at - first) * 1000 / whole);
}

/* A style's lengths are per cent, of which printf would want the locale's point. */
#define PERCENT(thousandths) (thousandths) / 10, (thousandths) % 10

static void add_bar(struct buffer *out, const struct record *record, const char *name,
		    const char *colour, int64_t from, int64_t to)
{
	int64_t start = record->started_at_unix;
	int left = place(record, from), width = place(record, to) - left;
	int end = place(record, record->inputs.expires_at_unix);

	buffer_print(out,
		     "<span>%s</span><span class=\"track\"><b style=\"left:%d.%d%%;"
		     "width:%d.%d%%;background:%s\"></b><i style=\"left:%d.%d%%\"></i>"
		     "</span><span class=\"faint\">%+" PRId64 " to %+" PRId64
		     " s (%" PRId64 " s)</span>\n",
		     name, PERCENT(left), PERCENT(width), colour, PERCENT(end),
		     from - start, to - start, to - from);
}

static void add_timeline(struct buffer *out, const struct record *record)
{
	static const char *const colours[] = {"#54aeff", "#3fb950", "#d4a72c", "#b083f0"};

	buffer_print(out, "<h3>Timeline</h3>\n<div class=\"time\">\n");
	add_bar(out, record, "window", "var(--window)", record->inputs.issued_at_unix,
		record->inputs.expires_at_unix);
	for (size_t i = 0; i < record->phase_count; i++)
		add_bar(out, record, phase_names[record->phases[i].phase],
			colours[i % ARRAY_SIZE(colours)],
			record->phases[i].started_at_unix,
			record->phases[i].completed_at_unix);
	buffer_print(out, "</div>\n<p class=\"faint\">Seconds from the collection's "
			  "start; the dashed line is the window's end.</p>\n");
}

/* --- what bounded each denial ------------------------------------------------------ */

/* Microseconds, in the unit that a person would choose. */
static void add_duration(struct buffer *out, int64_t us)
{
	if (us < 1000)
		buffer_print(out, "%" PRId64 "&nbsp;&micro;s", us);
	else if (us < 1000000)
		buffer_print(out, "%" PRId64 ".%" PRId64 "&nbsp;ms", us / 1000,
			     us % 1000 / 100);
	else
		buffer_print(out, "%" PRId64 ".%02" PRId64 "&nbsp;s", us / 1000000,
			     us % 1000000 / 10000);
}

static void add_numbers(struct buffer *out, const struct record_probe *probe)
{
	const struct evidence *evidence = &probe->evidence;

	switch (probe->basis) {
	case BASIS_CONTROL:
		buffer_print(out, evidence->control.held
					  ? "the control's own flow lived on: "
					  : "the control got through: ");
		add_duration(out, evidence->control.before.elapsed_us);
		buffer_print(out, " before, ");
		add_duration(out, evidence->control.after.elapsed_us);
		buffer_print(out, " after");
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
		buffer_print(out, "reached before; no socket listens there now");
		break;
	case BASIS_NO_ROUTE:
		buffer_print(out, "no route of that family where the probe was made");
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

static const char *const phase_meanings[] = {
	[PHASE_ACTIVE] = "the worker runs, and the window is open",
	[PHASE_STOP_ROLLBACK] = "the worker was stopped, and the guard is back",
	[PHASE_EXPIRY] = "the window has ended under open flows",
	[PHASE_FAILED_START] = "the worker was started too late, and failed",
};

static void add_phase(struct buffer *out, const struct record_phase *phase)
{
	char started[MOMENT_SIZE], completed[MOMENT_SIZE];

	buffer_print(out,
		     "<h4>%s <span class=\"faint\">%s; %s to %s</span></h4>\n"
		     "<table class=\"rows probes\"><thead><tr><th scope=\"col\">came to"
		     "</th><th scope=\"col\">probe</th><th scope=\"col\">expected</th>"
		     "<th scope=\"col\">observed</th><th scope=\"col\">basis</th>"
		     "<th scope=\"col\">what it rests on</th></tr></thead><tbody>\n",
		     phase_names[phase->phase], phase_meanings[phase->phase],
		     moment_format(phase->started_at_unix, started),
		     moment_format(phase->completed_at_unix, completed));
	for (size_t k = 0, next; k < phase->probe_count; k = next) {
		for (next = k + 1; next < phase->probe_count &&
				   is_alike(&phase->probes[k], &phase->probes[next]);)
			next++;
		add_row(out, &phase->probes[k], next - k);
	}
	buffer_print(out, "</tbody></table>\n");
}

static void add_probes(struct buffer *out, const struct record *record)
{
	buffer_print(out, "<h3>What bounded each probe</h3>\n");
	for (size_t i = 0; i < record->phase_count; i++)
		add_phase(out, &record->phases[i]);
}

static void add_findings(struct buffer *out, const struct findings *findings)
{
	buffer_print(out, "<h3>Why not</h3>\n<table class=\"rows why\"><thead><tr>"
			  "<th scope=\"col\">code</th><th scope=\"col\">where</th>"
			  "<th scope=\"col\">expected</th><th scope=\"col\">found</th>"
			  "<th scope=\"col\">next</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		const struct finding_kind *kind = &finding_kinds[finding->code];

		buffer_print(out, "<tr><td><code class=\"bad\">%s</code><br>",
			     kind->name);
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
	buffer_print(out, "</tbody></table>\n");
}

static void add_fact(struct buffer *out, const char *name, const char *value)
{
	buffer_print(out, "<dt>%s</dt><dd><code>", name);
	markup_add(out, value);
	buffer_print(out, "</code></dd>\n");
}

static void add_facts(struct buffer *out, const struct record *record)
{
	char from[MOMENT_SIZE], to[MOMENT_SIZE];

	buffer_print(out, "<dl>\n");
	add_fact(out, "machine", record->host.machine_id_sha256);
	add_fact(out, "boot", record->host.boot_id);
	add_fact(out, "kernel", record->host.kernel);
	add_fact(out, "release", record->release.version);
	add_fact(out, "source", record->release.source_revision);
	buffer_print(out, "<dt>collected</dt><dd>%s to %s</dd>\n",
		     moment_format(record->started_at_unix, from),
		     moment_format(record->completed_at_unix, to));
	buffer_print(out, "<dt>window</dt><dd>%s to %s</dd>\n",
		     moment_format(record->inputs.issued_at_unix, from),
		     moment_format(record->inputs.expires_at_unix, to));
	buffer_print(out, "<dt>not covered</dt><dd>");
	for (size_t i = 0; i < record->not_covered_count; i++)
		buffer_print(out, "%s<code>%s</code>", i ? ", " : "",
			     record->not_covered[i]);
	buffer_print(out, "</dd>\n</dl>\n");
}

static void add_verdict(struct buffer *out, const struct report_entry *entry)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	const struct verdict *verdict = entry->verdict;
	size_t all = 0, good = 0;

	buffer_print(out, "<div class=\"verdict %s\"><strong>%s</strong>\n<p>",
		     verdict ? judgement_names[verdict->judgement] : "unknown",
		     verdict ? judgement_names[verdict->judgement] : "could not tell");
	if (!verdict) {
		markup_add(out, diag_render(entry->undecided, line, sizeof(line)));
		buffer_print(out, "</p></div>\n");
		return;
	}
	buffer_print(out, "%s</p>\n<p class=\"faint\">%zu of %zu checks passed",
		     report_meaning(verdict->judgement), verdict->checks_passed,
		     verdict->checks_built_in);
	if (verdict->judgement != JUDGEMENT_REFUSED) {
		record_count_probes(&entry->case_->record, &all, &good);
		buffer_print(out,
			     "; %zu of %zu probes as expected, with their cause shown",
			     good, all);
	}
	buffer_print(out, "</p></div>\n");
}

static void add_html(struct buffer *out, const struct report_entry *entry, size_t index)
{
	const struct verdict *verdict = entry->verdict;

	(void)index;
	buffer_print(out, "<article>\n<h2>Record <code>");
	markup_add(out, entry->record_sha256);
	buffer_print(out, "</code></h2>\n");
	add_verdict(out, entry);
	if (verdict && verdict->findings.count)
		add_findings(out, &verdict->findings);
	/* A refused record's tables would be somebody's claim, not an observation. */
	if (verdict && verdict->judgement != JUDGEMENT_REFUSED) {
		add_facts(out, &entry->case_->record);
		add_matrix(out, &entry->case_->record);
		add_timeline(out, &entry->case_->record);
		add_probes(out, &entry->case_->record);
	}
	buffer_print(out, "</article>\n");
}

const struct report_format report_html = {
	.name = "html", .begin = begin_html, .add = add_html, .end = end_html};
