// SPDX-License-Identifier: GPL-2.0-or-later
// rtnetlink dumps: routing rules, devices, traffic control.
#include "policy/kernel/rtnl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>

#include <libmnl/libmnl.h>

#include "common/own.h"

#define RTNL_TRIES 8
#define RTNL_RECEIVE_SIZE 65536
/* An answer comes from within the send; ten seconds without one is a fault. */
#define RTNL_RECEIVE_SECONDS 10

struct dump {
	struct mnl_socket *socket;
	unsigned int sequence, port;
	rtnl_on_message *on_message;
	void *context;
	bool is_interrupted, is_done;
	int error; /* negative */
};

static void close_socket(struct mnl_socket **socket)
{
	if (*socket)
		mnl_socket_close(*socket);
	*socket = NULL;
}

struct attributes rtnl_attributes(const struct nlmsghdr *message, size_t header_size)
{
	size_t headers = ATTRIBUTE_ALIGN(sizeof(*message)) + ATTRIBUTE_ALIGN(header_size);

	if (message->nlmsg_len < headers)
		return (struct attributes){0};
	return (struct attributes){(const uint8_t *)message + headers,
				   message->nlmsg_len - headers};
}

static void take(struct dump *dump, const struct nlmsghdr *message)
{
	int error = 0;

	if (message->nlmsg_seq != dump->sequence)
		return;
	if (message->nlmsg_flags & NLM_F_DUMP_INTR)
		dump->is_interrupted = true;
	switch (message->nlmsg_type) {
	case NLMSG_NOOP:
		return;
	case NLMSG_DONE:
	case NLMSG_ERROR:
		dump->is_done = true;
		if (mnl_nlmsg_get_payload_len(message) >= sizeof(error))
			memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
		else if (message->nlmsg_type == NLMSG_ERROR)
			error = -EBADMSG;
		dump->error = error;
		return;
	default:
		error = dump->on_message(message, dump->context);
		dump->is_done = error != 0;
		dump->error = error;
	}
}

static int receive_all(struct dump *dump, char *buffer)
{
	while (!dump->is_done) {
		ssize_t size =
			mnl_socket_recvfrom(dump->socket, buffer, RTNL_RECEIVE_SIZE);
		const struct nlmsghdr *message = (const void *)buffer;
		int left = (int)size;

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size < 0 ? -errno : -EPIPE;
		for (; mnl_nlmsg_ok(message, left) && !dump->is_done;
		     message = mnl_nlmsg_next(message, &left))
			take(dump, message);
	}
	return dump->error;
}

static int dump_once(struct dump *dump, uint16_t type, const void *header,
		     size_t header_size, char *buffer)
{
	char request[256];
	struct nlmsghdr *message = mnl_nlmsg_put_header(request);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	message->nlmsg_seq = ++dump->sequence;
	memcpy(mnl_nlmsg_put_extra_header(message, header_size), header, header_size);
	dump->is_interrupted = dump->is_done = false;
	dump->error = 0;
	if (mnl_socket_sendto(dump->socket, message, message->nlmsg_len) < 0)
		return -errno;
	return receive_all(dump, buffer);
}

int rtnl_dump(uint16_t type, const void *header, size_t header_size,
	      void (*start)(void *context), rtnl_on_message *on_message, void *context,
	      const char *place, struct diag *diag)
{
	OWN(close_socket)
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	OWN(own_pointer) char *buffer = NULL;
	struct timeval wait = {.tv_sec = RTNL_RECEIVE_SECONDS};
	struct dump dump = {
		.socket = socket, .on_message = on_message, .context = context};
	int error;

	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &wait,
		       sizeof(wait)) != 0)
		return diag_fail(diag, errno, place, "no netlink socket");
	buffer = malloc(RTNL_RECEIVE_SIZE);
	if (!buffer)
		return diag_no_memory(diag);
	for (int attempt = 0; attempt < RTNL_TRIES; attempt++) {
		if (start)
			start(context);
		error = dump_once(&dump, type, header, header_size, buffer);
		if (error)
			return diag_fail(diag, -error, place, "cannot be read");
		if (!dump.is_interrupted)
			return 0;
	}
	return diag_fail(diag, EINTR, place, "kept changing while it was read");
}
