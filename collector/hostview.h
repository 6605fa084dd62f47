/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This host: which it is, its accounts, who holds a socket. */
#ifndef COLLECTOR_HOSTVIEW_H
#define COLLECTOR_HOSTVIEW_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/measure.h"
#include "common/diag.h"
#include "policy/host.h"

/* Machine, boot and kernel. */
int hostview_read(struct host *ret_host, struct diag *diag);

/* Whether the process holds the socket with that inode. */
int hostview_holds_socket(const struct process *process, uint64_t inode, bool *ret_holds,
			  struct diag *diag);

/* The ids of an account's group, by name. */
int hostview_find_group(const char *name, gid_t *ret_gid, struct diag *diag);
int hostview_find_primary_group(uid_t uid, gid_t *ret_gid, struct diag *diag);

/* The groups that list `user` among their members, by the file itself: asking every
 * source of names would take calls that the collector has given up. Refuses more than
 * `max`. */
int hostview_find_groups(const char *path, const char *user, gid_t *ret_groups,
			 size_t max, size_t *ret_count, struct diag *diag);

#endif
