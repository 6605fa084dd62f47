/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers whoever connects with 403, and closes. */
#ifndef PROXY_SERVER_H
#define PROXY_SERVER_H

#include <stdint.h>

#include "common/diag.h"

/*
 * Theory of operation
 *
 * One thread, one epoll instance, a fixed table of connections; everything is
 * allocated by server_open(), before the sandbox.
 *
 * A connection is *waiting* until its request's head is over, its peer has ended
 * its side, or its time is up; then, if a single byte came, the same answer is sent
 * whatever was asked, and it is *answered*: what still arrives is read and thrown
 * away for a moment, because closing a socket with unread data makes the kernel
 * send a reset, which can overtake the answer. Both states have a limit of time
 * from their beginning, which no byte prolongs, and of bytes.
 *
 * Each state's connections stand in a queue in the order in which they entered it,
 * so the first is the one whose time is up first. When the table is full, the
 * connection that has been longest in its state gives way to the new one:
 * whoever holds thousands of connections open loses the oldest of them, and a
 * client that sends its request at once is answered.
 */

#define SERVER_CONNECTIONS 1024
#define SERVER_WAIT_MS 10000
#define SERVER_DRAIN_MS 2000
#define SERVER_DRAIN_LIMIT 65536 /* bytes thrown away after the answer */

struct server;

/* Prepares to serve `listener` (non-blocking; stays the caller's). Needs
 * SERVER_CONNECTIONS descriptors more; raises the soft limit up to the hard one,
 * and refuses a hard one that is too low. The caller releases the server. */
int server_open(int listener, struct server **ret_server, struct diag *diag);

/* The epoll descriptor, for the sandbox. */
int server_epoll(const struct server *server);

/* Tells the service manager on `notify` every `period_ms` that it still serves; 0: it
 * does not ask. Before server_run(). */
void server_set_watchdog(struct server *server, int notify, int64_t period_ms);

/* Serves for ever. Returns only when waiting or accepting itself fails. */
int server_run(struct server *server, struct diag *diag);

void server_release(struct server *server);

#endif
