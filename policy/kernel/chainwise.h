/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listing a big table chain by chain. */
#ifndef POLICY_KERNEL_CHAINWISE_H
#define POLICY_KERNEL_CHAINWISE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * "list table" makes libnftables dump all rules of the table at once, and for every
 * 32 KiB of them the kernel walks the table from its first rule (Linux 6.18,
 * __nf_tables_dump_rules(): three fifths of the time at 50,000 rules). "list chain"
 * dumps one chain. What else a table has, libnftables lists without the rules only
 * inside "list table"; but when both are in one buffer, its dump of rules is the
 * chain's, and that costs nothing. So:
 *
 *	list table T; list chain T FIRST     what is neither chain nor rule
 *	list chain T NEXT ...                each chain with its rules
 *	list set T S, list map T M ...       the elements, which newer libraries leave out
 *	                                     of the first
 *
 * policy/pieces.h puts these together, and refuses whatever is not as the kernel's own
 * dump says. A library that dumps otherwise only takes longer. The pieces are of one
 * ruleset if the generation was the same before the first and after the last: that is
 * for the caller to see, as it is of a dump.
 *
 * A command that begins with nothing but a name of the kernel's is text that somebody
 * else chose: names that are not plain words are not put into one.
 */

/* From here on it is cheaper. */
#define CHAINWISE_RULES_MIN 8192

/* Whether a table of which `messages` (kdump.h) is a dump can be listed so, and if
 * it has `rules_min` rules or more is better listed so; then `*ret_listing`, which the
 * caller owns, is what "nft -j list table" prints. Otherwise, and if anything went
 * otherwise than expected, it is left empty: the table is to be listed as a whole. The
 * only error is a want of memory. */
int chainwise_list(const char *table, const struct bytes *messages, size_t rules_min,
		   struct bytes *ret_listing, struct diag *diag);

#endif
