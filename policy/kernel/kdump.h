/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole dumps of tables: the kernel's messages, of one generation. */
#ifndef POLICY_KERNEL_KDUMP_H
#define POLICY_KERNEL_KDUMP_H

#include "policy/kernel/nfnl.h"

/*
 * Theory of operation
 *
 * A table is read in several dumps: the table, chains, sets, each set's elements,
 * each chain's rules (one dump of all rules walks the table from its start for
 * every message: quadratic), objects and flowtables. The kernel may commit a
 * transaction between or inside any of them. So the generation is read before
 * and after; a dump is kept only if both are the same and no message said
 * "interrupted". Otherwise it is thrown away and read again after a pause, a bounded
 * number of times, and then it is "could not tell". A partial dump is never
 * returned. (Elements that packets add or that expire move no generation: see
 * kform.h for what that means.)
 */

/* What a dump may take before it is given up: about a million rules. */
#define KDUMP_BYTES_MAX (512UL * 1024 * 1024)

struct kdump_name {
	uint8_t family; /* NFPROTO_... */
	char *name;
};

/* The tables of the namespace, of all families, in the kernel's order. */
struct kdump_names {
	struct kdump_name *names;
	size_t count;
};

void kdump_names_release(struct kdump_names *names);

/* The messages of one table, back to back, each padded to 4 bytes; no bytes at all
 * if there is no such table. The caller owns `ret_messages`. */
int kdump_table(struct nfnl *nfnl, uint8_t family, const char *table,
		struct bytes *ret_messages, uint32_t *ret_generation, struct diag *diag);

/* All tables that `is_wanted` (NULL: all) accepts, of one generation. `on_table`
 * gets each with its messages, which it may take; it returns 0 or -errno. */
struct kdump_all {
	bool (*is_wanted)(uint8_t family, const char *table, void *context);
	int (*on_table)(uint8_t family, const char *table, struct bytes *messages,
			void *context, struct diag *diag);
	void *context;
};
int kdump_tables(struct nfnl *nfnl, const struct kdump_all *all, uint32_t *ret_generation,
		 struct diag *diag);

#endif
