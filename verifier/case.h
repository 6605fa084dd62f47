/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that a verdict is taken from: a record, its preflights, and the pins. */
#ifndef VERIFIER_CASE_H
#define VERIFIER_CASE_H

#include <sys/types.h>

#include "common/diag.h"
#include "common/store.h"
#include "policy/preflight.h"
#include "policy/profile.h"
#include "policy/record.h"
#include "policy/release.h"
#include "policy/site.h"
#include "verifier/finding.h"

/* What the caller pins: none may be left out. */
struct case_pins {
	const char *profile, *site, *release; /* paths */
	const char *post_sha256;
};

/* The pinned files, read once for any number of records. */
struct case_files {
	struct profile profile;
	struct site site;
	char site_sha256[DIGEST_TEXT_SIZE];
	struct release release;
	char release_sha256[DIGEST_TEXT_SIZE];
	struct preflight post;
	char post_sha256[DIGEST_TEXT_SIZE];
	struct findings findings; /* what was refused of them */
};

/* One record and the preflight it names. About 250 KiB: on the heap. */
struct verify_case {
	const struct case_files *files;
	char record_sha256[DIGEST_TEXT_SIZE];
	struct record record;
	struct preflight pre;
};

/* Reads the pinned files and the preflight after. What is refused becomes a
 * finding; what cannot be read is "could not tell" and returned. The caller
 * releases `*ret_files` in either case. */
int case_read_files(const struct case_pins *pins, const struct store *store, uid_t owner,
		    struct case_files *ret_files, struct diag *diag);
void case_release_files(struct case_files *files);

/* Reads the record and the preflight it names, in the same way. */
int case_read_record(const char *record_sha256, const struct store *store,
		     const struct case_files *files, struct verify_case *ret_case,
		     struct findings *findings, struct diag *diag);

#endif
