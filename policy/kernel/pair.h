/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A live table and what its policy compiles to, each in both forms. */
#ifndef POLICY_KERNEL_PAIR_H
#define POLICY_KERNEL_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * The wanted side is made by loading the policy's text into a network namespace of
 * its own: the same kernel, the same library, the same cgroup and user namespace,
 * so that whatever either of them makes of the text, it makes of it here too. A
 * child unshares the namespace, and its own children run libnftables in it. Nothing
 * gives the namespace a name, and every child dies with its parent, by any signal:
 * so the kernel takes the namespace away when we end, however we end.
 *
 * Meanwhile another child dumps the live table over netlink and lists it. If the
 * generation has moved by the time the listing is there, all is done again, a bounded
 * number of times: the two forms of a side are always of one ruleset.
 *
 * A listing that cannot be made is kept apart from the dump: libnftables may die on
 * what somebody did to the table, and the dump still tells what that was.
 *
 * Normalizing a listing costs about half of making it. Two listings whose texts are the
 * same but for handles and counters have the same entries, so the second one is
 * normalized only if they are not.
 */

struct pair_side {
	struct bytes messages;  /* kdump's; none: there is no such table */
	struct bytes entries;   /* normalized, canonical JSON */
	struct bytes listing;   /* "nft -a list table", if asked for and possible */
	struct diag no_entries; /* why there are none */
};

struct pair {
	struct pair_side live, wanted;
	bool is_listed_alike;        /* both have the entries that `live` has */
	uint32_t generation;         /* of the live side */
	int64_t before_ms, after_ms; /* the wall clock around its dump */
};

/* `text` is a transaction that makes the inet table `table`. `has_listings`: with
 * `listing` of both sides, for a report. The caller owns the pair. */
int pair_read(const char *table, const char *text, bool has_listings,
	      struct pair *ret_pair, struct diag *diag);
void pair_release(struct pair *pair);

#endif
