/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The review: a judgement as a document for keeping (netproof.review.v1). */
#ifndef VERIFIER_REVIEW_H
#define VERIFIER_REVIEW_H

#include "common/own.h"
#include "verifier/judge.h"

/* The canonical bytes of the review, the same for the same evidence on every
 * machine at any time: it has no clock in it. The caller owns them. */
int review_write(const struct verify_case *case_, const struct verdict *verdict,
		 struct bytes *ret_bytes, struct diag *diag);

#endif
