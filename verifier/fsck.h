/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store as a whole: every entry examined, nothing repaired. */
#ifndef VERIFIER_FSCK_H
#define VERIFIER_FSCK_H

#include <stddef.h>

#include "common/diag.h"
#include "common/digest.h"
#include "common/store.h"

/* One thing that is not as it must be. */
struct fsck_finding {
	enum diag_kind kind; /* refused, or could not be told */
	char *name;          /* the entry's, printable */
	char *text;          /* what is wrong, with the place inside the object */
};

/* A record, and the preflight it says it was preceded by. */
struct fsck_reference {
	char record[DIGEST_TEXT_SIZE];
	char preflight[DIGEST_TEXT_SIZE];
};

/* Starts as all zero; released by own_fsck(). */
struct fsck {
	size_t entry_count, record_count, preflight_count;
	struct fsck_finding *findings; /* in the order of the entries' names */
	size_t finding_count, finding_room;
	/* For fsck_run() itself. */
	struct fsck_reference *references;
	size_t reference_count, reference_room;
	char (*preflights)[DIGEST_TEXT_SIZE];
	size_t preflight_room;
};

void own_fsck(struct fsck *fsck);

/* Examines every entry of the store: its form as store_get() wants it, its bytes as
 * a record or a preflight, and of a record that its preflight is in the store.
 * Returns 0 when all of that was done, whatever was found. A folder that cannot be
 * listed and one without an entry are "could not tell". */
int fsck_run(const struct store *store, struct fsck *ret_fsck, struct diag *diag);

/* The exit status for a store that was examined: refused if any entry is not as it
 * must be; else could not tell if any could not be examined; else 0. */
enum exit_status fsck_exit_status(const struct fsck *fsck);

#endif
