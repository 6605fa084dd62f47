/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unsigned in-toto statement about a verified record. */
#ifndef VERIFIER_STATEMENT_H
#define VERIFIER_STATEMENT_H

#include "common/own.h"
#include "verifier/judge.h"

/* Writes an in-toto Statement v1 (in-toto attestation framework, spec/v1) whose
 * subject is the record and whose predicate is its review; unsigned, because a
 * signed summary would be taken for an approval. Refused for a record that is not
 * verified. The caller owns the bytes. */
int statement_write(const struct verify_case *case_, const struct verdict *verdict,
		    struct bytes *ret_bytes, struct diag *diag);

#endif
