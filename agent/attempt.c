// SPDX-License-Identifier: GPL-2.0-or-later
// TCP attempts: connect, handshake, establish, proxy_forward.
//
// syscalls: socket connect close getsockopt getsockname sendto recvfrom epoll_ctl
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/probe.h"
#include "common/own.h"

/* A connect() to a local port of the ephemeral range may pick that very port to
 * send from, and meets itself (RFC 9293, 3.5: simultaneous open). Each try picks
 * another port. */
#define TRIES_MAX 4

static void attempt_ready(struct probe *probe, struct agent *agent);

static bool is_met_itself(const struct probe *probe)
{
	struct sockaddr_storage own = {0};
	socklen_t size = sizeof(own);

	return getsockname(probe->fd, (struct sockaddr *)&own, &size) == 0 &&
	       size == probe->address_size && memcmp(&own, &probe->address, size) == 0;
}

static void open_and_connect(struct probe *probe, struct agent *agent)
{
	if (probe->is_watched)
		agent_unwatch(agent, probe->fd);
	probe->is_watched = false;
	own_fd(&probe->fd);
	probe->tries++;
	probe->fd = socket(probe->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe->fd < 0) {
		probe_fail(probe, agent, errno);
		return;
	}
	attempt_ready(probe, agent);
}

static int start_attempt(struct probe *probe, struct agent *agent, struct diag *diag)
{
	int error = inet_parse(probe->request.address, (uint16_t)probe->request.port,
			       &probe->address, &probe->address_size);

	if (error) /* the decoder lets no other through */
		return diag_refuse(diag, "request: address", "not an address");
	probe->family = probe->address.ss_family;
	open_and_connect(probe, agent);
	return 0;
}

static void send_proxy_request(struct probe *probe, struct agent *agent)
{
	const char *target = probe->request.target;
	char text[2 * REQUEST_TARGET_SIZE + 64];
	int size = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n",
			    target, target);
	ssize_t sent = send(probe->fd, text + probe->proxy.sent,
			    (size_t)size - probe->proxy.sent, MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN) {
		/* After the connection nothing but its words is a verdict. */
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, errno);
		return;
	}
	if (sent > 0)
		probe->proxy.sent += (size_t)sent;
	if (probe->proxy.sent == (size_t)size) {
		probe->phase = PROBE_READING;
		probe_wait(probe, agent, EPOLLIN);
	} else {
		probe_wait(probe, agent, EPOLLOUT);
	}
}

static void judge_status_line(struct probe *probe, struct agent *agent)
{
	switch (status_line_judge(&probe->proxy.line)) {
	case STATUS_LINE_PARTIAL:
		break;
	case STATUS_LINE_FORWARDED:
		probe_finish(probe, agent, OUTCOME_PROXY_FORWARDED, 0);
		break;
	case STATUS_LINE_REFUSED:
		probe_finish(probe, agent, OUTCOME_PROXY_REFUSED, 0);
		break;
	case STATUS_LINE_OTHER:
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, 0);
		break;
	}
}

static void read_status_line(struct probe *probe, struct agent *agent)
{
	struct status_line *line = &probe->proxy.line;
	ssize_t got;

	while (!probe->is_done) {
		got = recv(probe->fd, line->text + line->size,
			   sizeof(line->text) - line->size, MSG_DONTWAIT);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got < 0)
			probe_finish(probe, agent, OUTCOME_PROBE_ERROR, errno);
		else if (got == 0)
			probe_finish(probe, agent, OUTCOME_CLOSED, 0);
		if (got <= 0)
			return;
		line->size += (size_t)got;
		judge_status_line(probe, agent);
	}
}

static void attempt_connected(struct probe *probe, struct agent *agent)
{
	if (is_met_itself(probe)) {
		if (probe->tries < TRIES_MAX)
			open_and_connect(probe, agent);
		else
			probe_finish(probe, agent, OUTCOME_PROBE_ERROR, 0);
		return;
	}
	switch (probe->request.op) {
	case REQUEST_ESTABLISH:
		if (probe->is_watched)
			agent_unwatch(agent, probe->fd);
		probe->is_watched = false;
		probe_finish_handle(probe, agent, 'c', take_fd(&probe->fd), EXPIRY_NEVER,
				    OUTCOME_CONNECTED);
		break;
	case REQUEST_PROXY_FORWARD:
		probe->phase = PROBE_SENDING;
		send_proxy_request(probe, agent);
		break;
	default:
		probe_finish(probe, agent, OUTCOME_CONNECTED, 0);
	}
}

/* connect() again is the question whether it is done: 0, EALREADY, or the error. On
 * loopback the second call already says so, and epoll is never asked. */
static void attempt_connect(struct probe *probe, struct agent *agent)
{
	const struct sockaddr *address = (const struct sockaddr *)&probe->address;
	int error = 0;
	socklen_t size = sizeof(error);

	for (int call = probe->is_watched ? 1 : 0; call < 2; call++) {
		if (connect(probe->fd, address, probe->address_size) == 0 ||
		    errno == EISCONN) {
			attempt_connected(probe, agent);
			return;
		}
		if (errno != EINPROGRESS && errno != EALREADY) {
			probe_fail(probe, agent, errno);
			return;
		}
	}
	/* A rejection from our own host arrives while connect() holds the socket; the
	 * kernel keeps it aside and would tell only after a retransmission. */
	if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error)
		probe_fail(probe, agent, error);
	else
		probe_wait(probe, agent, EPOLLOUT);
}

static void attempt_ready(struct probe *probe, struct agent *agent)
{
	switch (probe->phase) {
	case PROBE_CONNECTING:
		attempt_connect(probe, agent);
		break;
	case PROBE_SENDING:
		send_proxy_request(probe, agent);
		break;
	case PROBE_READING:
		read_status_line(probe, agent);
		break;
	}
}

static void attempt_late(struct probe *probe, struct agent *agent)
{
	attempt_ready(probe, agent);
	if (probe->is_done)
		return;
	/* A proxy that took the request and never answered has not refused it. */
	probe_finish(probe, agent,
		     probe->phase == PROBE_CONNECTING ? OUTCOME_TIMEOUT
						      : OUTCOME_PROBE_ERROR,
		     ETIMEDOUT);
}

const struct probe_steps attempt_steps = {start_attempt, attempt_ready, attempt_late};
