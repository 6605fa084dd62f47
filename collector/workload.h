/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workload's processes on this host: what they hold that no rule of ours would meet.
 */
#ifndef COLLECTOR_WORKLOAD_H
#define COLLECTOR_WORKLOAD_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/measure.h"
#include "collector/wait.h"
#include "common/diag.h"
#include "policy/subjects.h"

/*
 * Theory of operation
 *
 * The policy judges packets on their way out of the host's network namespace, by who
 * made the socket. What a process of the workload user has been given beyond that, by
 * a mistake of root's, leaves the host beside it:
 *
 * - a socket that somebody else made, held or waiting in the queue of a Unix socket;
 * - a packet socket, whose packets pass no output hook; and a capability in the host's
 *   own user namespace, with which it could open one;
 * - a network namespace of root's with an interface of its own: what comes from there
 *   is forwarded, not sent;
 * - a TUN device that it may attach to: the same.
 *
 * All are read from /proc and rtnetlink at one moment. A process that gets one of
 * these later is not seen; what a setuid program does for it is not either.
 */

struct workload {
	const struct subjects *subjects;
	const gid_t *groups; /* all that a process of the workload user's may have */
	size_t group_count;
	const struct measurement *self; /* the host's namespaces */
	struct wait *wait;
};

/* Refuses the first of those. `*ret_sockets`, the number of foreign sockets found, is
 * 0. Waits, at most a second, for descriptors that are on their way. */
int workload_check(const struct workload *workload, int64_t *ret_sockets,
		   struct diag *diag);

#endif
