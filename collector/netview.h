/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another network namespace read from outside: interfaces, routes, sockets. */
#ifndef COLLECTOR_NETVIEW_H
#define COLLECTOR_NETVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/diag.h"
#include "common/inet.h"

/*
 * Theory of operation
 *
 * A socket belongs to the namespace it was made in, for ever: a short child
 * enters the namespace, makes the socket and hands it over. The collector
 * itself never leaves its own namespaces. Dumps are whole or "could not tell":
 * an interrupted one is taken again, a bounded number of times.
 */

#define NETVIEW_NAME_SIZE 16 /* IFNAMSIZ */

/* Makes a socket in the namespace `net_fd` (-1: ours) whose owner is `uid`; the
 * caller owns `*ret_fd` (close-on-exec). */
int netview_socket(int net_fd, uid_t uid, int domain, int type, int protocol, int *ret_fd,
		   struct diag *diag);

/* The same, bound to an IPv4 endpoint and listening. A port that is taken gives
 * -EADDRINUSE and leaves `diag` alone. */
int netview_listen(int net_fd, uid_t uid, const struct endpoint *endpoint, int *ret_fd,
		   struct diag *diag);

/* The names of the namespace's interfaces, at most `max`; `*ret_count` is how
 * many there are. */
int netview_interfaces(int net_fd, char (*ret_names)[NETVIEW_NAME_SIZE], size_t max,
		       size_t *ret_count, struct diag *diag);

/* An interface that is up and no loopback; "": there is none. */
int netview_find_up(int net_fd, char ret_name[NETVIEW_NAME_SIZE], struct diag *diag);

/* What the namespace does with a packet to the address (either family). */
enum netview_route {
	NETVIEW_ROUTE_NONE,  /* nothing, or an answer that it is unreachable */
	NETVIEW_ROUTE_LOCAL, /* one of its own addresses */
	NETVIEW_ROUTE_OUT,
};
int netview_route(int net_fd, const char *address, enum netview_route *ret_route,
		  struct diag *diag);

/* How many TCP sockets have the local port, and how many of them listen: on the
 * address itself, or on any. */
struct netview_sockets {
	size_t listening, established;
};
int netview_count_sockets(int net_fd, const struct endpoint *local,
			  struct netview_sockets *ret_sockets, struct diag *diag);

/* The pid that holds the one TCP socket listening on the endpoint in our own
 * namespace is not told by the kernel; its inode is. 0: none listens. */
int netview_listener_inode(int net_fd, const struct endpoint *local, uint64_t *ret_inode,
			   struct diag *diag);

#endif
