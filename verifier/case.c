// SPDX-License-Identifier: GPL-2.0-or-later
// All that a verdict is taken from: a record, its preflights, and the pins.
#include "verifier/case.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/own.h"

/* Turns a refusal into a finding; anything else is returned. */
static int note(struct findings *findings, enum finding_code code, const char *document,
		int error, const struct diag *cause, struct diag *diag)
{
	char line[FINDING_TEXT_SIZE];

	if (!error)
		return 0;
	if (cause->kind != DIAG_REFUSED) {
		*diag = *cause;
		return error;
	}
	findings_add(findings, code, document, "", finding_kinds[code].title,
		     diag_render(cause, line, sizeof(line)));
	return 0;
}

/* Reads an object; a refusal becomes `object` or `form`. */
static int read_object(const char *sha256, const struct store *store,
		       enum finding_code object, enum finding_code form,
		       const char *document,
		       int (*parse)(const void *data, size_t size, const char *name,
				    void *ret_object, struct diag *diag),
		       size_t limit, void *ret_object, struct findings *findings,
		       struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag cause = {0};
	int error = store_get(store, sha256, limit, &bytes, &cause);

	if (error)
		return note(findings, object, document, error, &cause, diag);
	error = parse(bytes.data, bytes.size, document, ret_object, &cause);
	return note(findings, form, document, error, &cause, diag);
}

static int parse_preflight(const void *data, size_t size, const char *name,
			   void *ret_object, struct diag *diag)
{
	return preflight_parse(data, size, name, ret_object, diag);
}

static int parse_record(const void *data, size_t size, const char *name, void *ret_object,
			struct diag *diag)
{
	return record_parse(data, size, name, ret_object, diag);
}

int case_read_files(const struct case_pins *pins, const struct store *store, uid_t owner,
		    struct case_files *ret_files, struct diag *diag)
{
	struct diag profile = {0}, site = {0}, release = {0};
	struct findings *findings = &ret_files->findings;
	int error;

	*ret_files = (struct case_files){0};
	error = profile_read(pins->profile, owner, &ret_files->profile, &profile);
	error = note(findings, FINDING_PROFILE_FILE, "profile", error, &profile, diag);
	if (error)
		return error;
	error = site_read(pins->site, owner, &ret_files->site, ret_files->site_sha256,
			  &site);
	error = note(findings, FINDING_SITE_FILE, "site", error, &site, diag);
	if (error)
		return error;
	error = release_read(pins->release, owner, &ret_files->release,
			     ret_files->release_sha256, &release);
	error = note(findings, FINDING_RELEASE_FILE, "release", error, &release, diag);
	if (error)
		return error;
	snprintf(ret_files->post_sha256, DIGEST_TEXT_SIZE, "%s", pins->post_sha256);
	return read_object(pins->post_sha256, store, FINDING_POST_OBJECT,
			   FINDING_POST_FORM, "post", parse_preflight, PREFLIGHT_LIMIT,
			   &ret_files->post, findings, diag);
}

void case_release_files(struct case_files *files)
{
	findings_release(&files->findings);
	explicit_bzero(&files->profile, sizeof(files->profile));
}

int case_read_record(const char *record_sha256, const struct store *store,
		     const struct case_files *files, struct verify_case *ret_case,
		     struct findings *findings, struct diag *diag)
{
	size_t before = findings->count;
	int error;

	ret_case->files = files;
	snprintf(ret_case->record_sha256, DIGEST_TEXT_SIZE, "%s", record_sha256);
	error = read_object(record_sha256, store, FINDING_RECORD_OBJECT,
			    FINDING_RECORD_FORM, "record", parse_record, RECORD_LIMIT,
			    &ret_case->record, findings, diag);
	if (error || findings->count != before)
		return error;
	return read_object(ret_case->record.pre_collection_preflight_sha256, store,
			   FINDING_PRE_OBJECT, FINDING_PRE_FORM, "pre", parse_preflight,
			   PREFLIGHT_LIMIT, &ret_case->pre, findings, diag);
}
