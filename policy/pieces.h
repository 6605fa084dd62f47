/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table's listing put together of the listings of its parts. */
#ifndef POLICY_PIECES_H
#define POLICY_PIECES_H

#include <stddef.h>

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * "nft -j list table" of a big table costs more for each rule the more there are;
 * "nft -j list chain" of each of its chains does not (policy/kernel/chainwise.h). What
 * the latter print has everything the former does, in other documents. Here they
 * become the one document that nft would have printed, byte for byte.
 *
 * Nothing is parsed and printed again: whole objects of the texts are moved. What is
 * moved is checked against what the kernel said is there: each chain's document is
 * of that chain and of nothing else, each set of the table has its document, and all
 * rules are there. Whatever is otherwise, or only looks unlike nft's way of printing,
 * is refused, and the caller lists the table as a whole instead.
 */

struct pieces {
	const char *table; /* of family inet */
	const char *const *chains;
	size_t chain_count, set_count, rule_count;
};

/* `text` is what was printed: a line for the table, of which only what is neither
 * chain nor rule counts; a line for each chain, in the kernel's order; a line for each
 * named set and map, in any order. Returns 0, -ENOMEM, or -EBADMSG for anything
 * unexpected. The caller owns `ret_listing`. */
int pieces_join(const struct pieces *pieces, const struct bytes *text,
		struct bytes *ret_listing, struct diag *diag);

#endif
