/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets of root's that systemd keeps for the workload's services. */
#ifndef COLLECTOR_HANDED_H
#define COLLECTOR_HANDED_H

#include <sys/types.h>

#include "collector/units.h"
#include "common/diag.h"

/* Refuses an active socket unit that listens on the network for a service of the account
 * `user`, whose uid is `uid`: PID 1 made that socket, so the policy takes for root's what
 * the service sends through it. Sockets in the file system are everybody's business but
 * ours. */
int handed_check(struct units *units, const char *user, uid_t uid, struct diag *diag);

#endif
