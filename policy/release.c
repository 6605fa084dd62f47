// SPDX-License-Identifier: GPL-2.0-or-later
// The release: which programs and documents belong together
// (netproof.release.v1).
#include "policy/release.h"

#include <string.h>

#include "common/json_table.h"
#include "common/protected.h"
#include "policy/tables.h"

const char *const release_program_names[] = {
	[RELEASE_NET_COLLECTOR] = "net-collector", [RELEASE_NET_POLICY] = "net-policy",
	[RELEASE_NET_PREFLIGHT] = "net-preflight", [RELEASE_NET_PROBE] = "net-probe",
	[RELEASE_NET_PROXY] = "net-proxy",         [RELEASE_NET_SITE] = "net-site",
	[RELEASE_NET_VERIFY] = "net-verify",       [RELEASE_PROGRAM_COUNT] = NULL,
};

static bool is_revision(const char *text)
{
	size_t length = strlen(text);

	/* git's object names: SHA-1 or SHA-256. */
	return (length == 40 || length == 64) &&
	       strspn(text, "0123456789abcdef") == length;
}

static bool is_image_id(const char *text)
{
	return strncmp(text, "sha256:", 7) == 0 && digest_is_text(text + 7);
}

static const struct json_rule revision_rule = {"a git commit's full name", is_revision};
const struct json_rule release_image_rule = {
	"\"sha256:\" and 64 lower-case hexadecimal digits", is_image_id};

/* The key is not a C name, so the row is written out. */
#define PROGRAM(key_, index_)                                                            \
	{                                                                                \
		.key = (key_), .type = &json_type_text,                                  \
		.offset = offsetof(struct release_programs, sha256[index_]),             \
		.size = DIGEST_TEXT_SIZE, .min = DIGEST_TEXT_SIZE - 1,                   \
		.max = DIGEST_TEXT_SIZE - 1, .detail = &json_rule_digest                 \
	}

static const struct json_field program_fields[] = {
	PROGRAM("net-collector", RELEASE_NET_COLLECTOR),
	PROGRAM("net-policy", RELEASE_NET_POLICY),
	PROGRAM("net-preflight", RELEASE_NET_PREFLIGHT),
	PROGRAM("net-probe", RELEASE_NET_PROBE),
	PROGRAM("net-proxy", RELEASE_NET_PROXY),
	PROGRAM("net-site", RELEASE_NET_SITE),
	PROGRAM("net-verify", RELEASE_NET_VERIFY),
};

const struct json_table release_programs_table =
	JSON_TABLE(struct release_programs, program_fields);

static const struct json_field image_fields[] = {
	{JSON_TEXT(struct release_image, reference, 1, &json_rule_ascii)},
	{JSON_TEXT(struct release_image, id, 1, &release_image_rule)},
};

static const struct json_table image_table =
	JSON_TABLE(struct release_image, image_fields);

static const struct json_field release_fields[] = {
	{JSON_LITERAL("schema", "netproof.release.v1")},
	{JSON_TEXT(struct release, version, 1, &json_rule_ascii)},
	{JSON_TEXT(struct release, source_revision, 1, &revision_rule)},
	{JSON_OBJECT(struct release, programs, &release_programs_table)},
	{JSON_DIGEST(struct release, catalog_sha256)},
	{JSON_DIGEST(struct release, targets_sha256)},
	{JSON_OBJECT(struct release, candidate_image, &image_table)},
};

static const struct json_table release_table = JSON_TABLE(struct release, release_fields);

int release_parse(const void *data, size_t size, const char *name,
		  struct release *ret_release, struct diag *diag)
{
	return json_table_parse_kept(data, size, RELEASE_LIMIT, name, &release_table,
				     ret_release, diag);
}

int release_read(const char *path, uid_t owner, struct release *ret_release,
		 char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error =
		protected_read(path, owner, PROTECTED_FILE, RELEASE_LIMIT, &bytes, diag);

	if (!error)
		error = release_parse(bytes.data, bytes.size, path, ret_release, diag);
	if (error)
		return error;
	if (ret_sha256)
		digest_bytes(bytes.data, bytes.size, ret_sha256);
	return 0;
}

int release_write(const struct release *release, struct bytes *ret_bytes,
		  struct diag *diag)
{
	return tables_write_kept(&release_table, release, RELEASE_LIMIT, "release",
				 ret_bytes, diag);
}
