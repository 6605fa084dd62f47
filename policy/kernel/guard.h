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
 * in a fixed buffer: make the table if it is not there, delete it with whatever it
 * held (dormant or of another shape), and add the guard. The kernel commits all
 * of it or nothing: no packet sees a moment without either.
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
 *       ct mark & MARK_OURS_MASK == MARK_OURS counter reject with icmpx
 *         admin-prohibited
 *     }
 *   }
 */

/* Replaces the inet table `table` by the guard for `subjects`, in one
 * transaction, in the network namespace of the caller. A failure is "could not
 * tell" and has changed nothing; the message says what stands in the way. */
int guard_load(const char *table, const struct subjects *subjects, struct diag *diag);

#endif
