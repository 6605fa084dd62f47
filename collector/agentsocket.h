/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reaching the Unix socket of an agent that was started elsewhere. */
#ifndef COLLECTOR_AGENTSOCKET_H
#define COLLECTOR_AGENTSOCKET_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/measure.h"
#include "collector/wait.h"

/* Opens the folder `path` below the process's own root (its mount namespace),
 * following no link. The caller owns `*ret_fd`. */
int agentsocket_open_folder(const struct process *process, const char *path, int *ret_fd,
			    struct diag *diag);

/* Whose credentials the agent sees at the other end. The files are reached with
 * `file_uid`'s permissions: an agent in a user namespace knows the workload user as
 * its root, and owns the socket itself. */
struct agentsocket_peer {
	uid_t uid, file_uid;
	gid_t gid;
};

/* Waits until `name` in the folder is a socket that listens, and connects to it.
 * The caller owns `*ret_fd`. Silence until the deadline is a refusal. */
int agentsocket_connect(struct wait *wait, int folder_fd, const char *name,
			const struct agentsocket_peer *peer, int64_t deadline_ms,
			int *ret_fd, struct diag *diag);

#endif
