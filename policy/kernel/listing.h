/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libnftables: loading text of ours, and listing a table. */
#ifndef POLICY_KERNEL_LISTING_H
#define POLICY_KERNEL_LISTING_H

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * libnftables can exit when memory ends, crash on what a newer nft left in the
 * kernel, print half a document and report success, and wait for a long time
 * where there are many cgroups. So it runs in a child, with a deadline and bounded
 * output, and whatever happens to the child is "could not tell".
 *
 * It also takes for commands whatever text it is given, and in JSON mode even
 * what is not JSON. So the text is ours: ruleset_compile()'s, or a listing
 * command made of a table's name that the site file's rules have passed.
 *
 * The child works in the caller's network namespace, and resolves cgroup paths
 * below the caller's /sys/fs/cgroup.
 */

#define LISTING_LIMIT (64 << 20) /* bytes of one listing */

enum listing_form {
	LISTING_JSON,    /* as "nft -j list table" */
	LISTING_TEXT,    /* as "nft list table" */
	LISTING_HANDLES, /* as "nft -a list table": each rule with its handle */
};

/* Runs `text` as one transaction. Anything but success is "could not tell", with
 * the library's own first message; then nothing was changed. A child that was
 * killed at its deadline may have changed all of it. */
int listing_load(const char *text, struct diag *diag);

/* Lists the inet table `table`; the caller owns the bytes. A table that is not
 * there is "could not tell" as well. */
int listing_read(const char *table, enum listing_form form, struct bytes *ret_bytes,
		 struct diag *diag);

/* Runs listing commands, each by itself, and gives what they print as JSON, a line for
 * each document. For chainwise.h, which says what may be in them. */
int listing_run(const struct bytes *commands, size_t count, struct bytes *ret_output,
		struct diag *diag);

#endif
