/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between two tables in kernel form, for a person. */
#ifndef POLICY_KERNEL_KDIFF_H
#define POLICY_KERNEL_KDIFF_H

#include "common/buffer.h"
#include "policy/kernel/kform.h"

/*
 * Theory of operation
 *
 * Objects, sets and chains are paired by name, elements by what they are, rules of
 * a chain by the longest common sequence. In a rule, an anonymous set or chain
 * stands for what it holds, not for its number, so that one more rule does not
 * make all after it differ. Every difference is reported; the report alone is cut
 * when it becomes longer than anybody reads.
 */

/* One side: its form, and what nft makes of it: "nft -a list table", or NULL. */
struct kdiff_side {
	const struct kform *form;
	const char *listing;
};

#define KDIFF_SHOWN_MAX 40 /* differences; the others are only counted */

/* Adds one paragraph for each difference to `report`; `*count` grows by their
 * number: 0 exactly when the texts of the two forms are the same. Returns 0 or
 * -ENOMEM. */
int kdiff_report(const struct kdiff_side *wanted, const struct kdiff_side *live,
		 struct buffer *report, size_t *count, struct diag *diag);

/* A key of the set `set` of `form` as a person writes it: 1000, 192.0.2.1, 0x4e5…;
 * bytes where we do not know the type. */
void kdiff_put_key(struct buffer *text, const struct kform *form, const char *set,
		   const uint8_t *key, size_t size);

#endif
