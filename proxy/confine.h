/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the proxy gives up before the first byte arrives. */
#ifndef PROXY_CONFINE_H
#define PROXY_CONFINE_H

#include "common/diag.h"

/* Drops every privilege and, after that, every system call but those that
 * answer connections to `listener`, wait on `epoll` and end the process: it can
 * open nothing, connect nowhere and start nothing; trying kills it. */
int confine(int listener, int epoll, struct diag *diag);

#endif
