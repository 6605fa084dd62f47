/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Normalized entries: a table's listing without what changes by itself. */
#ifndef POLICY_NORMALIZE_H
#define POLICY_NORMALIZE_H

#include <stddef.h>

#include <jansson.h>

#include "common/diag.h"
#include "common/json.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * A listing is what "nft -j list table" prints. It comes from a program that may
 * have died in the middle and from a kernel in which others can write names, so
 * it is read as strictly as any other input: one table, of the name asked for, and
 * nothing of any other; each object known by name once; no rule of a chain that
 * is not there. Whatever is wrong with a listing, the verdict is "could not tell":
 * a listing neither grants nor refuses anything.
 */

#define NORMALIZE_LIMIT (64 << 20) /* bytes of a listing */

/* Parses a listing of the table `table` and gives its entries in the listing's
 * order, without `metainfo`, every `handle`, the values of counters (0 in their
 * place) and the `timeout` and `expires` of the elements of named sets and maps.
 * `name` is the listing's, for messages. The caller owns `*ret_entries`, an array of
 * objects of one key each. */
int normalize_listing(const void *data, size_t size, const char *name, const char *table,
		      json_t **ret_entries, struct diag *diag);

#endif
