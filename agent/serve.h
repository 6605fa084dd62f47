/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net-agent: one session, on standard input and output or on a Unix socket. */
#ifndef AGENT_SERVE_H
#define AGENT_SERVE_H

#include <stdbool.h>

#include "common/diag.h"

/* Serves one session and returns when it has ended. With `unix_path` (clean and
 * absolute; may be NULL) it is the one connection of a fresh socket there, whose peer
 * is root or, with `is_self_allowed`, of the agent's own uid. */
int serve_run(const char *unix_path, bool is_self_allowed, struct diag *diag);

#endif
