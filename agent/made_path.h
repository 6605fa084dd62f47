/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A path this process made, and takes away again if it is still that. */
#ifndef AGENT_MADE_PATH_H
#define AGENT_MADE_PATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/diag.h"

/*
 * Theory of operation
 *
 * The folder belongs to the agent's user, and so to the user's other processes: what
 * stands at the path later may be theirs. So the folder is held open, the inode is
 * remembered when it is made, and only that inode is ever removed.
 */

struct made_path {
	const char *path, *name; /* `name` is the last component of `path` */
	int directory_fd;        /* -1: not open */
	bool is_made;
	dev_t device;
	ino_t inode;
};

/* Opens the folder of `path`, which is clean, absolute and not "/"; `ret_made` keeps
 * the pointer. Otherwise: a usage error, or a refusal. */
int made_path_open(const char *path, struct made_path *ret_made, struct diag *diag);

/* Remembers what stands at the path as made by us. syscalls: newfstatat */
int made_path_remember(struct made_path *made, struct diag *diag);

/* Removes it, if it is still that; nothing to be done is no error. Nobody depends on
 * the removal's success. syscalls: newfstatat unlinkat */
void made_path_remove(struct made_path *made);

/* Closes the folder. */
void made_path_close(struct made_path *made);

#endif
