/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiler: a profile, a site and its subjects to one nft transaction. */
#ifndef POLICY_RULESET_H
#define POLICY_RULESET_H

#include <stdint.h>

#include "common/diag.h"
#include "common/own.h"
#include "policy/mark.h"
#include "policy/profile.h"
#include "policy/site.h"
#include "policy/subjects.h"

/*
 * Theory of operation
 *
 * One `inet` table is in one of two states, and each transaction puts it into one
 * whatever it was in before:
 *
 *	guard	chain output (-310)		reject subjects
 *		chain marked_output (-150)	the backstop: reject subjects; reject
 *						marked flows
 *	window	chain scoped_output (-150)	the grants; reject subjects; marked
 *						flows in @flows; reject marked flows
 *		chain scoped_input (-150)	binds what scoped listeners receive
 *		chain marked_output (-150)	marked flows in @flows; the backstop
 *
 * A transaction is one change for a rule, but not for a packet, in two ways that
 * both let packets through when they were tried on a running kernel:
 *
 *   - A packet reads the kernel's generation anew in each base chain. It can see one
 *     chain as it was before and the next as it is after, and a chain that is
 *     empty in one state protects nothing at the moment of change.
 *   - A new set of intervals, named or not, is found empty for a moment after the
 *     rules that look into it are in force (6.18: about one packet in four
 *     reloads under a storm). A plain set, or a comparison, is not.
 *
 * The backstop closes both. It is there in both states, it is evaluated last, and it
 * compares uids without a set. From window to guard, scoped_output either still
 * holds the grants, or is empty, and then marked_output holds the guard. From guard to
 * window, output rejects, or all that follows is new, but for a packet that set out
 * before scoped_output was registered, or that has no uid and passed scoped_output
 * while it was empty: both meet the window's backstop, which lets nothing pass that
 * is not marked by this very window.
 *
 * "Last" comes from the kernel: of equal priorities, the chain registered later
 * runs first, so every text here and every netlink batch elsewhere creates
 * marked_output before scoped_output and never deletes one of them alone.
 *
 * A chain is flushed and filled, never deleted and added: between two chains of
 * one name a packet could see both empty. Sets are deleted and added, because the
 * time-out of an element in place does not change; the rules that are filled in
 * are bound to the new set, those that are flushed to the old.
 */

/* What @flows holds of a mark (policy/mark.h): all but the sides. A flow has the
 * side of who opened it, and the side of the scoped listener that received it. */
#define RULESET_FLOW_MASK (MARK_OURS_MASK | MARK_PROFILE_MASK)
#define RULESET_MARK_WORKER (MARK_SIDE_WORKER << MARK_SIDE_SHIFT)
#define RULESET_MARK_DAEMON (MARK_SIDE_DAEMON << MARK_SIDE_SHIFT)

#define RULESET_GUARD_PRIORITY (-310)
#define RULESET_SCOPED_PRIORITY (-150)

enum ruleset_form {
	/* For a table that is not there, or has the chains above as they are. */
	RULESET_RELOAD,
	/* Deletes the table and adds it, for one that is dormant or of another
	 * shape: what that one enforced is not kept up for every packet meanwhile. */
	RULESET_REPLACE,
};

/* Writes the transaction that opens the window: nft text, one command a line,
 * without anything that nft would take from elsewhere. `uid` is the workload
 * user's, `subjects` holds it too. `now_ms` is the wall clock in milliseconds
 * since 1970; the elements' time-outs are what is left until the expiry.
 * Refused: a profile that has expired. */
int ruleset_compile(const struct site *site, const struct profile *profile, uint32_t uid,
		    const struct subjects *subjects, int64_t now_ms,
		    enum ruleset_form form, struct bytes *ret_text, struct diag *diag);

/* Writes the transaction that loads the deny guard. */
int ruleset_compile_guard(const char *table, const struct subjects *subjects,
			  enum ruleset_form form, struct bytes *ret_text,
			  struct diag *diag);

/* MARK_OURS and the 18 first bits of the profile's digest: the element of
 * @flows. Its marks are this with one or both role bits. */
uint32_t ruleset_flow_mark(const struct profile *profile);

/* How many rules scoped_output and scoped_input have. */
struct ruleset_counts {
	int64_t scoped_output, scoped_input;
};
struct ruleset_counts ruleset_count_rules(const struct profile *profile);

#endif
