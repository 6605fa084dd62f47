// SPDX-License-Identifier: GPL-2.0-or-later
// SARIF 2.1.0: one result for each finding, and one for a record that stands.
#include <jansson.h>

#include "common/canonical.h"
#include "common/version.h"
#include "verifier/report_formats.h"

/*
 * Rules are the catalogue's codes, in its order, and two more: a record that was
 * verified ("kind": "pass") and one that could not be judged. A result that is not a
 * pass has the level "error": nothing is a mere note. A list of results is never
 * empty, for its readers take an empty one for a pass; there are some, GitHub's code
 * scanning among them, that list a "pass" as if it were a problem, and err in the safe
 * direction.
 */

#define RULE_VERIFIED "verified"
#define RULE_UNDECIDED "could-not-tell"

/* Adds a value that the caller gives up; NULL is a want of memory. */
static void put_json(struct buffer *out, json_t *value)
{
	OWN(own_json) json_t *owned = value;
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	if (!owned || canonical_write(owned, &bytes, &diag) != 0) {
		out->is_short = true;
		return;
	}
	buffer_add(out, bytes.data, bytes.size);
}

static json_t *make_rule(const char *id, const char *title, const char *next)
{
	return json_pack("{s:s, s:{s:s}, s:{s:s}}", "id", id, "shortDescription", "text",
			 title, "help", "text", next);
}

static void begin_sarif(struct buffer *out, size_t count)
{
	(void)count;
	buffer_print(out,
		     "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
		     "\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{"
		     "\"name\":\"net-verify\",\"version\":\"%s\",\"rules\":[",
		     NETPROOF_VERSION);
	for (int i = 0; i < FINDING_CODE_COUNT; i++) {
		put_json(out, make_rule(finding_kinds[i].name, finding_kinds[i].title,
					finding_kinds[i].next));
		buffer_add_byte(out, ',');
	}
	put_json(out, make_rule(RULE_VERIFIED, "the record stands",
				"decide: nothing here approves anything"));
	buffer_add_byte(out, ',');
	put_json(out, make_rule(RULE_UNDECIDED, "there is no verdict",
				"mend what failed and verify again"));
	buffer_print(out, "]}},\"results\":[");
}

static json_t *make_location(const char *record_sha256, const char *document,
			     const char *pointer)
{
	/* A record is one line. */
	return json_pack("{s:[{s:{s:{s:s+}, s:{s:i}}, s:[{s:s+}]}]}", "locations",
			 "physicalLocation", "artifactLocation", "uri", "store/",
			 record_sha256, "region", "startLine", 1, "logicalLocations",
			 "fullyQualifiedName", document, pointer);
}

static void put_result(struct buffer *out, const char *rule, bool is_pass,
		       json_t *message, json_t *location)
{
	json_t *result = json_pack("{s:s, s:s, s:s, s:o}", "ruleId", rule, "kind",
				   is_pass ? "pass" : "fail", "level",
				   is_pass ? "none" : "error", "message", message);

	/* A NULL of either is a want of memory, and shows as one. */
	if (!result || !location || json_object_update(result, location) != 0) {
		json_decref(result);
		result = NULL;
	}
	json_decref(location);
	put_json(out, result);
}

static void put_finding(struct buffer *out, const struct report_entry *entry,
			const struct finding *finding)
{
	const struct finding_kind *kind = &finding_kinds[finding->code];

	put_result(
		out, kind->name, false,
		json_pack("{s:s++++}", "text", kind->title, ": expected ",
			  finding->expected, ", found ", finding->found),
		make_location(entry->record_sha256, finding->document, finding->pointer));
}

static void add_sarif(struct buffer *out, const struct report_entry *entry, size_t index)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	const struct verdict *verdict = entry->verdict;

	if (index)
		buffer_add_byte(out, ',');
	if (!verdict) {
		put_result(out, RULE_UNDECIDED, false,
			   json_pack("{s:s}", "text",
				     diag_render(entry->undecided, line, sizeof(line))),
			   make_location(entry->record_sha256, "record", ""));
		return;
	}
	if (verdict->judgement == JUDGEMENT_VERIFIED) {
		put_result(out, RULE_VERIFIED, true,
			   json_pack("{s:s}", "text", "every check passed"),
			   make_location(entry->record_sha256, "record", ""));
		return;
	}
	for (size_t i = 0; i < verdict->findings.count; i++) {
		if (i)
			buffer_add_byte(out, ',');
		put_finding(out, entry, &verdict->findings.items[i]);
	}
}

static void end_sarif(struct buffer *out)
{
	buffer_print(out, "]}]}\n");
}

const struct report_format report_sarif = {
	.name = "sarif", .begin = begin_sarif, .add = add_sarif, .end = end_sarif};
