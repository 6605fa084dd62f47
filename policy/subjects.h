/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subjects: the workload's uid and its subordinate uid ranges. */
#ifndef POLICY_SUBJECTS_H
#define POLICY_SUBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/diag.h"

#define SUBJECTS_RANGES_MAX 64

struct subject_range {
	uint32_t first, last; /* both included */
};

/* Sorted, disjoint and not touching: one form for one set of uids, so that
 * whoever prints or loads it makes the same elements. Starts as all zero. */
struct subjects {
	struct subject_range ranges[SUBJECTS_RANGES_MAX];
	size_t count;
};

/* Adds the uids from `first` to `last`, joining ranges that touch. Refuses a
 * range that is empty, holds uid 0 or 4294967295 (no user), or is one too many;
 * `*subjects` is then unchanged. */
int subjects_add(struct subjects *subjects, uint32_t first, uint32_t last,
		 struct diag *diag);

#endif
