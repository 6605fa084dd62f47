/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel holds what the policy compiles to, and what differs. */
#ifndef POLICY_KERNEL_COMPARE_H
#define POLICY_KERNEL_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/digest.h"
#include "common/own.h"
#include "policy/profile.h"
#include "policy/site.h"
#include "policy/subjects.h"

/*
 * Theory of operation
 *
 * pair.h gives both sides in both forms. Three things must hold, and each that does
 * not is a difference:
 *
 *	- the kernel forms are the same, byte for byte (kform.h; kdiff.h reports);
 *	- the normalized entries of the listings are the same, byte for byte;
 *	- sets with time-outs hold exactly the elements that the policy makes: the same
 *	  keys, since the policy was compiled just now and so names the cgroups that
 *	  exist now; and each ends with the window.
 *
 * A difference that was found is a verdict even where the rest could not be found
 * out. "Equal" is said only when all of it was.
 */

/* How far an element's end may be from the window's. An element's time-out is
 * counted from the moment it is loaded, which is after it was compiled; the clocks
 * drift against each other; the kernel counts in ticks. What passes in such a
 * remainder is stopped by the rules' own match on the wall clock. */
#define COMPARE_END_TOLERANCE_MS 2000

/* What to compare a table with. */
struct compare_request {
	const char *table; /* of family inet */
	const char *text;  /* the transaction that makes it */
	/* When the timed elements end, in milliseconds since 1970. From then on they
	 * must be gone. 0: not looked at. */
	int64_t expires_ms;
	/* What a flush leaves behind counts for nothing on either side: the deny
	 * guard, which is loaded into whatever table there was. */
	bool is_without_inert;
};

struct comparison {
	bool is_equal;
	size_t difference_count;
	struct bytes report; /* for people, a paragraph for each; "" if equal */
	/* Of the live side; "" where the table is not there or was not listed. */
	char kernel_sha256[DIGEST_TEXT_SIZE]; /* of the kernel form */
	/* Of the normalized entries; without what is inert, the semantic digest. */
	char ruleset_sha256[DIGEST_TEXT_SIZE];
	uint32_t generation;
};

/* Compares; the caller owns `*ret_comparison`. An error is "could not tell". */
int compare_table(const struct compare_request *request,
		  struct comparison *ret_comparison, struct diag *diag);

/* The same with what a profile compiles to at this site, now; from PID 1's cgroup
 * namespace alone (place.h). */
int compare_policy(const struct site *site, const struct profile *profile, uint32_t uid,
		   const struct subjects *subjects, struct comparison *ret_comparison,
		   struct diag *diag);

/* The same with the deny guard. */
int compare_guard(const char *table, const struct subjects *subjects,
		  struct comparison *ret_comparison, struct diag *diag);

void comparison_release(struct comparison *comparison);

#endif
