/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The semantic digest: the same before and after a worker's start and stop. */
#ifndef POLICY_SEMANTIC_H
#define POLICY_SEMANTIC_H

#include <jansson.h>

#include "common/digest.h"

/*
 * Theory of operation
 *
 * From the normalized entries this drops only what no verdict can depend on: what a
 * flush leaves behind, and nothing else. Whatever is not understood is kept. Then
 * everything whose order means nothing is put into one order; rules stay in the
 * order of their chain.
 */

/* Gives the entries that count, ordered (SPEC 5.4); `entries` is what
 * normalize_listing() gave and does not change. The caller owns the array. */
int semantic_reduce(const json_t *entries, json_t **ret_reduced, struct diag *diag);

/* SHA-256 over the canonical bytes of that array. */
int semantic_digest(const json_t *entries, char ret_sha256[DIGEST_TEXT_SIZE],
		    struct diag *diag);

#endif
