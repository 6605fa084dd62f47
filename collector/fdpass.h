/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handing one descriptor from a short child to its parent. */
#ifndef COLLECTOR_FDPASS_H
#define COLLECTOR_FDPASS_H

#include "common/child.h"
#include "common/diag.h"

/* What the child does: it returns 0 and a descriptor, or -errno. */
typedef int fdpass_make(void *context, int *ret_fd);

/* Runs `make` in a child of ours that inherits only `keep_fd` (-1: none), with all
 * of our privileges until it gives them up. Returns 0 and the descriptor, what
 * `make` returned, or "could not tell" when the child itself failed (in `diag`).
 * The caller owns `*ret_fd` (close-on-exec). */
int fdpass_run(fdpass_make *make, void *context, int keep_fd, int *ret_fd,
	       struct diag *diag);

#endif
