/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deny guard, loaded over netlink without the nft language. */
#ifndef POLICY_KERNEL_GUARD_H
#define POLICY_KERNEL_GUARD_H

#include "common/diag.h"
#include "policy/subjects.h"

/*
 * Theory of operation
 *
 * The guard must load when nothing else works: libnftables dies on some tables
 * of other people's (odd names, sets of a newer nft), and the moment that matters
 * most is the stop of a worker. So it is one netlink batch of fixed shape, built
 * in a fixed buffer. The kernel commits all of it or nothing.
 *
 * A table of our own shape is flushed and filled in place, as policy/ruleset.h
 * explains: then not one packet meets two empty chains. Any other (dormant, with
 * other chains, sets or objects, of another type) is deleted and added in the same
 * transaction. What is there is looked at first; where the kernel then refuses
 * the first way, the second is tried.
 *
 * What it makes is, in the kernel's own form, what nft makes of:
 *
 *   table inet TABLE {
 *     set subjects { type uid; flags constant, interval; elements = { ... } }
 *     chain output {
 *       type filter hook output priority -310; policy accept;
 *       meta skuid @subjects counter reject with icmpx admin-prohibited
 *     }
 *     chain marked_output {
 *       type filter hook output priority -150; policy accept;
 *       meta skuid UID-OR-RANGE counter reject with icmpx admin-prohibited
 *         (one for each of the subjects' ranges)
 *       ct mark & MARK_OURS_MASK == MARK_OURS counter reject with icmpx
 *         admin-prohibited
 *     }
 *   }
 *
 * beside scoped chains that are empty.
 */

/* Makes the inet table `table` the guard for `subjects`, in one transaction, in the
 * network namespace of the caller. A failure is "could not tell" and has changed nothing;
 * the message says what stands in the way. */
int guard_load(const char *table, const struct subjects *subjects, struct diag *diag);

#endif
