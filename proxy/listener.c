// SPDX-License-Identifier: GPL-2.0-or-later
// The proxy's one listening socket: opened, or taken from a service manager.
#include "proxy/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/inet.h"
#include "common/own.h"

/* The kernel doubles these and has its own minimum: socket(7). */
#define RECEIVE_BUFFER 8192
#define SEND_BUFFER 4096
#define BACKLOG 1024

static const char *name_of(const char *address, uint16_t port, char *text, size_t size)
{
	snprintf(text, size, "%s port %u", address, port);
	return text;
}

static int explain_bind(int error, const char *place, struct diag *diag)
{
	switch (error) {
	case EADDRNOTAVAIL:
		return diag_refuse(diag, place,
				   "not an address of this host; add it, or wait: "
				   "the unit tries again");
	case EADDRINUSE:
		return diag_refuse(diag, place,
				   "somebody else listens there; end that one, or "
				   "give the site another port");
	case EACCES:
		return diag_refuse(diag, place,
				   "a privileged port; give one of 1024 or higher");
	default:
		return diag_fail(diag, error, place, "cannot listen");
	}
}

/* Accepted sockets inherit the sizes. */
static int set_buffers(int fd)
{
	int receive = RECEIVE_BUFFER, send = SEND_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send)) != 0)
		return -errno;
	return 0;
}

int listener_open(const char *address, uint16_t port, int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct sockaddr_storage socket_address;
	char place[DIAG_PLACE_SIZE];
	const int on = 1;
	socklen_t size;

	name_of(address, port, place, sizeof(place));
	if (inet_parse(address, port, &socket_address, &size) != 0)
		return diag_usage(diag, address, "not a canonical IPv4 or IPv6 address");
	fd = socket(socket_address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    IPPROTO_TCP);
	if (fd < 0)
		return diag_fail(diag, errno, place, "no socket");
	/* Started again, it must not wait for its former connections' ends. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    set_buffers(fd) != 0)
		return diag_fail(diag, errno, place, "socket options");
	if (bind(fd, (struct sockaddr *)&socket_address, size) != 0 ||
	    listen(fd, BACKLOG) != 0)
		return explain_bind(errno, place, diag);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int listener_adopt(const char *address, uint16_t port, int *ret_fd, struct diag *diag)
{
	struct sockaddr_storage expected, found;
	socklen_t size, found_size = sizeof(found);
	const int fd = LISTENER_PASSED_FD;
	char place[DIAG_PLACE_SIZE];

	name_of(address, port, place, sizeof(place));
	if (inet_parse(address, port, &expected, &size) != 0)
		return diag_usage(diag, address, "not a canonical IPv4 or IPv6 address");
	memset(&found, 0, sizeof(found));
	if (option_of(fd, SO_ACCEPTCONN) != 1 ||
	    option_of(fd, SO_PROTOCOL) != IPPROTO_TCP)
		return diag_refuse(diag, place,
				   "the descriptor passed is no listening TCP socket; "
				   "pass one (ListenStream=), or none");
	if (getsockname(fd, (struct sockaddr *)&found, &found_size) != 0)
		return diag_fail(diag, errno, place, "getsockname");
	if (found_size != size || memcmp(&found, &expected, size) != 0)
		return diag_refuse(
			diag, place,
			"the socket passed listens elsewhere; give ListenStream= "
			"this address and port");
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
	    set_buffers(fd) != 0)
		return diag_fail(diag, errno, place, "socket options");
	*ret_fd = fd;
	return 0;
}
