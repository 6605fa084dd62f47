/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Canonical JSON: RFC 8785 bytes, and digests of values over them. */
#ifndef COMMON_CANONICAL_H
#define COMMON_CANONICAL_H

#include <jansson.h>

#include "common/diag.h"
#include "common/digest.h"
#include "common/own.h"

/* Writes the RFC 8785 form of `value` to `ret_bytes` (owned by the caller, no
 * newline, a NUL after the end). Floats do not occur in what this project
 * reads or writes; one is a refusal, as is nesting deeper than JSON_MAX_DEPTH. */
int canonical_write(const json_t *value, struct bytes *ret_bytes, struct diag *diag);

/* SHA-256 over the canonical bytes of `value`. */
int canonical_digest(const json_t *value, char ret_text[DIGEST_TEXT_SIZE],
		     struct diag *diag);

/* The largest integer of a document for keeping: below 10^15 (SPEC 3): one
 * JSON reader in ten changes larger ones. */
#define CANONICAL_KEPT_MAX 999999999999999

/* Refuses a value that is not in the form for keeping (SPEC 3): printable ASCII
 * that needs no escape, no null, no float, integers from 0 below 10^15, keys
 * without upper-case letters. `name` is the place of the whole. */
int canonical_check_kept(const json_t *value, const char *name, struct diag *diag);

#endif
