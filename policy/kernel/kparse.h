/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The messages of one table, sorted into what they describe. Inside kform only. */
#ifndef POLICY_KERNEL_KPARSE_H
#define POLICY_KERNEL_KPARSE_H

#include <stdbool.h>

#include "common/diag.h"
#include "common/own.h"
#include "policy/kernel/attribute.h"

#define KPARSE_NONE SIZE_MAX /* no next, no number */

struct kparse_set {
	const char *name;
	struct attributes row;
	uint32_t flags;
	bool is_referenced;
	size_t number;             /* of an anonymous one, once something refers to it */
	size_t first, last, count; /* elements */
};

struct kparse_chain {
	const char *name;
	struct attributes row;
	bool is_anonymous, is_base, is_referenced;
	bool is_plain_base; /* a base chain with nothing but the ordinary attributes */
	size_t made;        /* its place in the kernel's list, which is by age */
	size_t older;       /* base chains of the same hook and priority made before */
	size_t number;
	size_t first, last, count; /* rules */
};

/* An element or a rule; `next` in the same set or chain. */
struct kparse_part {
	struct attributes row;
	size_t next;
	uint64_t handle;
	size_t offset, size; /* of its text, for the writer */
};

/* An object or a flowtable. */
struct kparse_object {
	const char *name;
	uint32_t type;
	struct attributes row;
};

/* Everything is sorted by name (objects: by type first); elements and rules are in
 * the kernel's order. All of it points into the messages. */
struct kparse {
	uint8_t family;
	const char *table;
	struct attributes table_row;
	uint32_t table_flags;
	struct kparse_set *sets;
	struct kparse_chain *chains;
	struct kparse_part *elements, *rules;
	struct kparse_object *objects, *flowtables;
	size_t set_count, chain_count, element_count, rule_count, object_count,
		flowtable_count;
};

/* `messages` outlives the result. Returns 0, or "could not tell" if they are not
 * what a kernel says of one table. */
int kparse_read(const struct bytes *messages, struct kparse *ret_parse,
		struct diag *diag);
void kparse_release(struct kparse *parse);

/* By the kernel's name; NULL if there is none. */
struct kparse_set *kparse_find_set(const struct kparse *parse, const char *name);
struct kparse_chain *kparse_find_chain(const struct kparse *parse, const char *name);

#endif
