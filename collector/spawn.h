/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that live as long as a collection: helpers, and agents of our own. */
#ifndef COLLECTOR_SPAWN_H
#define COLLECTOR_SPAWN_H

#include <sys/types.h>

#include "common/diag.h"

/*
 * Theory of operation
 *
 * common/child runs a child to its end; this keeps one, with a pipe each way on
 * its descriptors 0 and 1 and /dev/null as 2. It starts in a new session, with
 * no other descriptor, an empty signal mask, SIGKILL when its parent dies, and
 * either runs `function` or executes the open file `program_fd`: the file that
 * was measured, whatever its name points to by then.
 */

struct spawn_spec {
	int program_fd;               /* executed, or -1 */
	const char *const *arguments; /* argv, ends with NULL */
	int (*function)(void *context);
	/* In the child, before either; -errno ends the start. */
	int (*prepare)(void *context);
	void *context;
};

struct spawned {
	pid_t pid; /* 0: none */
	int pidfd;
	int input, output; /* our ends, non-blocking: we write, we read */
};

#define SPAWNED_INIT                                                                     \
	{                                                                                \
		0, -1, -1, -1                                                            \
	}

/* Starts the child; the caller owns `*ret_child`. It has been executed, or its
 * preparation's failure is told ("could not tell"). `name` is for messages. */
int spawn_start(const struct spawn_spec *spec, const char *name,
		struct spawned *ret_child, struct diag *diag);

/* Kills it if it still lives, reaps it, closes everything. Idempotent. */
void spawn_stop(struct spawned *child);

#endif
