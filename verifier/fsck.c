// SPDX-License-Identifier: GPL-2.0-or-later
// A store as a whole: every entry examined, nothing repaired.
#include "verifier/fsck.h"

#include <errno.h>
#include <string.h>

#include "verifier/object.h"

void own_fsck(struct fsck *fsck)
{
	for (size_t i = 0; i < fsck->finding_count; i++) {
		free(fsck->findings[i].name);
		free(fsck->findings[i].text);
	}
	free(fsck->findings);
	free(fsck->references);
	free(fsck->preflights);
	memset(fsck, 0, sizeof(*fsck));
}

/* Makes room for one more item in `*items`, of which there are `count`. */
static int grow(void *items, size_t count, size_t *room, size_t size)
{
	void **pointer = items, *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*pointer, *room ? 2 * *room : 64, size);
	if (!grown)
		return -ENOMEM;
	*room = *room ? 2 * *room : 64;
	*pointer = grown;
	return 0;
}

/* Adds what `found` says of the entry `name`. */
static int add_finding(struct fsck *fsck, const char *name, const struct diag *found)
{
	struct fsck_finding *finding;
	struct diag text = {0};
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	size_t length;

	if (grow(&fsck->findings, fsck->finding_count, &fsck->finding_room,
		 sizeof(*fsck->findings)) != 0)
		return -ENOMEM;
	finding = &fsck->findings[fsck->finding_count];
	/* Through a diag, which makes any name printable. */
	diag_refuse(&text, name, "x");
	finding->name = strdup(text.place);
	diag_render(found, line, sizeof(line));
	length = strlen(text.place);
	/* The place starts with the name, which is said already. */
	if (strncmp(line, text.place, length) == 0 &&
	    strncmp(line + length, ": ", 2) == 0)
		finding->text = strdup(line + length + 2);
	else
		finding->text = strdup(line);
	if (!finding->name || !finding->text) {
		free(finding->name);
		free(finding->text);
		return -ENOMEM;
	}
	finding->kind = found->kind;
	fsck->finding_count++;
	return 0;
}

static int add_object(struct fsck *fsck, const char *name, const struct object *object)
{
	struct fsck_reference *reference;

	if (object->kind == OBJECT_PREFLIGHT) {
		if (grow(&fsck->preflights, fsck->preflight_count, &fsck->preflight_room,
			 sizeof(*fsck->preflights)) != 0)
			return -ENOMEM;
		memcpy(fsck->preflights[fsck->preflight_count++], name, DIGEST_TEXT_SIZE);
		return 0;
	}
	if (grow(&fsck->references, fsck->reference_count, &fsck->reference_room,
		 sizeof(*fsck->references)) != 0)
		return -ENOMEM;
	reference = &fsck->references[fsck->reference_count++];
	memcpy(reference->record, name, DIGEST_TEXT_SIZE);
	memcpy(reference->preflight, object->record->pre_collection_preflight_sha256,
	       DIGEST_TEXT_SIZE);
	fsck->record_count++;
	return 0;
}

static int visit(const struct store_entry *entry, void *context)
{
	OWN(own_object) struct object object = {0};
	struct fsck *fsck = context;
	struct diag found = {0};

	if (!entry->bytes)
		return add_finding(fsck, entry->name, entry->diag);
	if (object_decode(entry->bytes, entry->name, &object, &found) != 0)
		return add_finding(fsck, entry->name, &found);
	return add_object(fsck, entry->name, &object);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* A record without its preflight cannot be verified. The preflights are sorted,
 * because the entries were visited in the order of their names. */
static int check_references(struct fsck *fsck)
{
	for (size_t i = 0; i < fsck->reference_count; i++) {
		const struct fsck_reference *reference = &fsck->references[i];
		struct diag found = {0};

		if (fsck->preflight_count &&
		    bsearch(reference->preflight, fsck->preflights, fsck->preflight_count,
			    sizeof(*fsck->preflights), compare_names))
			continue;
		diag_refuse(&found, reference->record,
			    "pre_collection_preflight_sha256: no such preflight in the "
			    "store: %s",
			    reference->preflight);
		if (add_finding(fsck, reference->record, &found) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int compare_findings(const void *left, const void *right)
{
	return strcmp(((const struct fsck_finding *)left)->name,
		      ((const struct fsck_finding *)right)->name);
}

int fsck_run(const struct store *store, struct fsck *ret_fsck, struct diag *diag)
{
	OWN(own_fsck) struct fsck fsck = {0};
	int error = store_check(store, visit, &fsck, &fsck.entry_count, diag);

	if (!error)
		error = check_references(&fsck);
	/* A diag without a cause: visit() has no other failure than this. */
	if (error == -ENOMEM)
		return diag_no_memory(diag);
	if (error)
		return error;
	if (fsck.entry_count == 0)
		return diag_fail(diag, 0, "store",
				 "empty: there is nothing to say of it; a collection "
				 "fills it");
	if (fsck.finding_count)
		qsort(fsck.findings, fsck.finding_count, sizeof(*fsck.findings),
		      compare_findings);
	*ret_fsck = fsck;
	memset(&fsck, 0, sizeof(fsck));
	return 0;
}

enum exit_status fsck_exit_status(const struct fsck *fsck)
{
	enum exit_status status = EXIT_STATUS_OK;

	for (size_t i = 0; i < fsck->finding_count; i++) {
		if (fsck->findings[i].kind == DIAG_REFUSED)
			return EXIT_STATUS_REFUSED;
		status = EXIT_STATUS_UNDECIDED;
	}
	return status;
}
