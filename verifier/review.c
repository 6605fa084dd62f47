// SPDX-License-Identifier: GPL-2.0-or-later
// The review: a judgement as a document for keeping (netproof.review.v1).
#include "verifier/review.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/canonical.h"
#include "common/json_table.h"

#define REVIEW_CODE_SIZE 32
#define REVIEW_FINDINGS_MAX 1024 /* of one record; what is more is counted */

/* A finding as the review has it: what was found came from a document that may be
 * hostile, so it is written in the form for keeping. */
struct review_finding {
	char code[REVIEW_CODE_SIZE];
	char document[FINDING_DOCUMENT_SIZE];
	char pointer[FINDING_POINTER_SIZE];
	char expected[FINDING_TEXT_SIZE];
	char found[FINDING_TEXT_SIZE];
	char next[FINDING_TEXT_SIZE];
};

struct review {
	int judgement;
	char record_sha256[DIGEST_TEXT_SIZE];
	char pre_collection_preflight_sha256[DIGEST_TEXT_SIZE];
	bool has_pre;
	char post_collection_preflight_sha256[DIGEST_TEXT_SIZE];
	char profile_sha256[DIGEST_TEXT_SIZE];
	char site_sha256[DIGEST_TEXT_SIZE];
	char release_sha256[DIGEST_TEXT_SIZE];
	bool has_profile, has_site, has_release;
	int64_t checks_built_in, checks_passed;
	int64_t probes, probes_matched, probes_conclusive;
	int64_t findings_found;
	struct review_finding findings[REVIEW_FINDINGS_MAX];
	size_t finding_count;
	bool approval_generated;
};

static const struct json_field finding_fields[] = {
	{JSON_TEXT(struct review_finding, code, 1, &json_rule_name)},
	{JSON_TEXT(struct review_finding, document, 1, &json_rule_name)},
	{JSON_TEXT(struct review_finding, pointer, 0, &json_rule_ascii)},
	{JSON_TEXT(struct review_finding, expected, 0, &json_rule_ascii)},
	{JSON_TEXT(struct review_finding, found, 0, &json_rule_ascii)},
	{JSON_TEXT(struct review_finding, next, 1, &json_rule_ascii)},
};

static const struct json_table finding_table =
	JSON_TABLE(struct review_finding, finding_fields);

static const struct json_field finding_item = {
	JSON_ITEM_OBJECT(struct review_finding, &finding_table)};

static const char *const review_judgements[] = {
	[JUDGEMENT_VERIFIED] = "verified",
	[JUDGEMENT_REFUSED] = "refused",
	[JUDGEMENT_UNMATCHED] = "unmatched",
	[JUDGEMENT_INCONCLUSIVE] = "inconclusive",
	NULL,
};

static const struct json_field review_fields[] = {
	{JSON_LITERAL("schema", "netproof.review.v1")},
	{JSON_CHOICE(struct review, judgement, review_judgements)},
	{JSON_DIGEST(struct review, record_sha256)},
	{JSON_DIGEST(struct review, pre_collection_preflight_sha256),
	 JSON_OPTIONAL(struct review, has_pre)},
	{JSON_DIGEST(struct review, post_collection_preflight_sha256)},
	{JSON_DIGEST(struct review, profile_sha256),
	 JSON_OPTIONAL(struct review, has_profile)},
	{JSON_DIGEST(struct review, site_sha256), JSON_OPTIONAL(struct review, has_site)},
	{JSON_DIGEST(struct review, release_sha256),
	 JSON_OPTIONAL(struct review, has_release)},
	{JSON_INTEGER(struct review, checks_built_in, 0, CANONICAL_KEPT_MAX)},
	{JSON_INTEGER(struct review, checks_passed, 0, CANONICAL_KEPT_MAX)},
	{JSON_INTEGER(struct review, probes, 0, CANONICAL_KEPT_MAX)},
	{JSON_INTEGER(struct review, probes_matched, 0, CANONICAL_KEPT_MAX)},
	{JSON_INTEGER(struct review, probes_conclusive, 0, CANONICAL_KEPT_MAX)},
	{JSON_INTEGER(struct review, findings_found, 0, CANONICAL_KEPT_MAX)},
	{JSON_ARRAY(struct review, findings, finding_count, &finding_item, 0)},
	{JSON_BOOLEAN(struct review, approval_generated)},
};

static const struct json_table review_table = JSON_TABLE(struct review, review_fields);

/* Text in the form for keeping: what it does not have becomes '?'. */
static void put_text(char *ret_text, size_t size, const char *text)
{
	snprintf(ret_text, size, "%s", text);
	for (; *ret_text; ret_text++)
		if (*ret_text < 0x20 || *ret_text > 0x7e || *ret_text == '"' ||
		    *ret_text == '\\')
			*ret_text = '?';
}

static void put_finding(struct review_finding *ret_finding, const struct finding *finding)
{
	const struct finding_kind *kind = &finding_kinds[finding->code];

	put_text(ret_finding->code, sizeof(ret_finding->code), kind->name);
	put_text(ret_finding->document, sizeof(ret_finding->document), finding->document);
	put_text(ret_finding->pointer, sizeof(ret_finding->pointer), finding->pointer);
	put_text(ret_finding->expected, sizeof(ret_finding->expected), finding->expected);
	put_text(ret_finding->found, sizeof(ret_finding->found), finding->found);
	put_text(ret_finding->next, sizeof(ret_finding->next), kind->next);
}

/* A file that was not read has no digest: its key is left out. */
static bool put_digest(char ret_sha256[DIGEST_TEXT_SIZE], const char *sha256)
{
	snprintf(ret_sha256, DIGEST_TEXT_SIZE, "%s", sha256);
	return sha256[0] != '\0';
}

static void count_probes(const struct record *record, struct review *review)
{
	for (size_t i = 0; i < record->phase_count; i++)
		for (size_t k = 0; k < record->phases[i].probe_count; k++) {
			review->probes++;
			review->probes_matched += record->phases[i].probes[k].matched;
			review->probes_conclusive +=
				record->phases[i].probes[k].conclusive;
		}
}

int review_write(const struct verify_case *case_, const struct verdict *verdict,
		 struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_pointer) struct review *review = calloc(1, sizeof(*review));
	const struct case_files *files = case_->files;

	if (!review)
		return diag_no_memory(diag);
	review->judgement = (int)verdict->judgement;
	put_digest(review->record_sha256, case_->record_sha256);
	put_digest(review->post_collection_preflight_sha256, files->post_sha256);
	review->has_pre = put_digest(review->pre_collection_preflight_sha256,
				     case_->record.pre_collection_preflight_sha256);
	review->has_profile = put_digest(review->profile_sha256, files->profile.sha256);
	review->has_site = put_digest(review->site_sha256, files->site_sha256);
	review->has_release = put_digest(review->release_sha256, files->release_sha256);
	review->checks_built_in = (int64_t)verdict->checks_built_in;
	review->checks_passed = (int64_t)verdict->checks_passed;
	count_probes(&case_->record, review);
	review->findings_found = (int64_t)verdict->findings.count;
	for (size_t i = 0; i < verdict->findings.count && i < REVIEW_FINDINGS_MAX; i++)
		put_finding(&review->findings[review->finding_count++],
			    &verdict->findings.items[i]);
	/* Nothing here approves anything: whoever reads this decides. */
	review->approval_generated = false;
	return json_table_write(&review_table, review, ret_bytes, diag);
}
