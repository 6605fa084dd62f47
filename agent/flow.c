// SPDX-License-Identifier: GPL-2.0-or-later
// What is kept: check, listen, adopt, accept.
//
// syscalls: fcntl setsockopt getsockopt recvfrom socket bind listen accept4 close
// epoll_ctl
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include <linux/tcp.h>

#include "agent/probe.h"
#include "common/clock.h"
#include "common/own.h"

#define LISTEN_BACKLOG 128

/* What may have piled up on a flow before a check: more is a peer that is talking. */
#define DRAIN_PIECE 4096
#define DRAIN_PIECES_MAX 256

/* Keepalive probes go out every second, the least there is. The kernel looks at the
 * time-out only when it would send one, up to a second (and its timer's slack) later:
 * with this much taken off it still speaks before our deadline. */
#define KEEPALIVE_SECONDS 1
#define KEEPALIVE_MARGIN_MS 1200

/* From here on a check has time for two of them, and silence means something. */
#define CHECK_SILENCE_MS 2500

/* Gives the probe its duplicate of the handle's descriptor. False: finished. */
static bool borrow(struct probe *probe, struct agent *agent, struct handle *handle)
{
	probe->handle = handle;
	probe->fd = fcntl(handle->fd, F_DUPFD_CLOEXEC, 0);
	if (probe->fd < 0)
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, errno);
	return probe->fd >= 0;
}

/* Looks up the handle a request names. Returns 0, 1 (it has ended, and the probe is
 * finished with what ended it) or -EINVAL. */
static int find_handle(struct probe *probe, struct agent *agent, const char *text,
		       struct handle **ret_handle, struct diag *diag)
{
	enum outcome ended = OUTCOME_PROBE_ERROR;
	int found = handles_find(&agent->handles, text, ret_handle, &ended);

	if (found < 0)
		return diag_refuse(diag, "request", "%s is no open handle", text);
	if (found)
		probe_finish(probe, agent, ended, 0);
	return found;
}

/* --- check --------------------------------------------------------------- */

static int set_tcp(int fd, int option, int value)
{
	return setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
}

static int set_keepalive(int fd, int value)
{
	return setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value));
}

/* What has come from the peer. */
struct heard {
	int64_t idle_ms;  /* since the last of it, as the kernel's keepalive counts */
	uint32_t answers; /* segments without data: a peer that has none of ours to
			   * acknowledge sends these for our keepalive probes */
};

static int read_heard(int fd, struct heard *ret_heard)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
		return -errno;
	if (size < offsetof(struct tcp_info, tcpi_data_segs_out))
		return -EOPNOTSUPP; /* before Linux 4.6 */
	*ret_heard = (struct heard){
		.idle_ms = info.tcpi_last_data_recv < info.tcpi_last_ack_recv
				   ? info.tcpi_last_data_recv
				   : info.tcpi_last_ack_recv,
		.answers = info.tcpi_segs_in - info.tcpi_data_segs_in,
	};
	return 0;
}

/* TCP_USER_TIMEOUT counts from the last segment received, not from now: without the
 * idle time one lost keepalive probe would end a flow that is well. The order matters:
 * TCP_KEEPIDLE restarts the timer, so everything else is set by then. */
static int ask_peer(int fd, int64_t timeout_ms, uint32_t *ret_answers)
{
	int64_t patience_ms = timeout_ms - KEEPALIVE_MARGIN_MS, idle_ms;
	struct heard heard = {0};
	int error = read_heard(fd, &heard);

	if (error)
		return error;
	*ret_answers = heard.answers;
	idle_ms = heard.idle_ms;
	if (patience_ms < 1)
		patience_ms = 1;
	if (patience_ms + idle_ms > INT32_MAX)
		idle_ms = INT32_MAX - patience_ms;
	if (set_tcp(fd, TCP_KEEPINTVL, KEEPALIVE_SECONDS) != 0 ||
	    set_tcp(fd, TCP_USER_TIMEOUT, (int)(patience_ms + idle_ms)) != 0 ||
	    set_keepalive(fd, 1) != 0 ||
	    set_tcp(fd, TCP_KEEPIDLE, KEEPALIVE_SECONDS) != 0)
		return -errno;
	return 0;
}

/* The flow is left as it was: silent. A dead one is given up. */
static void finish_check(struct probe *probe, struct agent *agent, enum outcome outcome,
			 int error)
{
	struct handle *handle = probe->handle;

	/* On a socket that has ended these fail, and need not succeed. */
	set_keepalive(probe->fd, 0);
	set_tcp(probe->fd, TCP_USER_TIMEOUT, 0);
	probe_finish(probe, agent, outcome, error);
	handle->is_checked = false;
	if (outcome != OUTCOME_CONNECTED && outcome != OUTCOME_PROBE_ERROR)
		handles_end(&agent->handles, handle, outcome);
}

/* Reads what is there. Returns true if it ended the check. */
static bool take_data(struct probe *probe, struct agent *agent, bool is_old)
{
	char piece[DRAIN_PIECE];
	ssize_t got = 0;

	for (int i = 0; i < DRAIN_PIECES_MAX; i++) {
		got = recv(probe->fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (got <= 0 || !is_old)
			break;
	}
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got > 0)
		finish_check(probe, agent, OUTCOME_CONNECTED, 0);
	else if (got == 0)
		finish_check(probe, agent, OUTCOME_CLOSED, 0);
	else
		finish_check(probe, agent, outcome_from_errno(errno, probe->family),
			     errno);
	return true;
}

static int start_check(struct probe *probe, struct agent *agent, struct diag *diag)
{
	struct handle *handle;
	int found = find_handle(probe, agent, probe->request.connection, &handle, diag);
	int error;

	if (found)
		return found < 0 ? found : 0;
	if (handle->is_checked)
		return diag_refuse(diag, "request", "a check of %s has not ended",
				   probe->request.connection);
	if (!borrow(probe, agent, handle))
		return 0;
	handle->is_checked = true;
	/* What the peer sent before says nothing of now: a greeting that waits in the
	 * buffer would make every cut flow look alive. */
	if (take_data(probe, agent, true))
		return 0;
	error = ask_peer(probe->fd, probe->request.timeout_ms, &probe->check.answers);
	if (error)
		finish_check(probe, agent, OUTCOME_PROBE_ERROR, -error);
	else
		probe_wait(probe, agent, EPOLLIN | EPOLLRDHUP);
	if (probe->is_done)
		handle->is_checked = false;
	return 0;
}

static void check_ready(struct probe *probe, struct agent *agent)
{
	take_data(probe, agent, false);
}

/* Whether the peer has answered a keepalive probe of this check. The kernel does not
 * count one that was lost on this host (no carrier, a full queue), so such a flow would
 * be idle for ever. Nor is it an answer that the peer sends its data again and again,
 * because our side of a cut flow cannot acknowledge it. */
static int has_answered(const struct probe *probe, bool *ret_answered)
{
	struct heard heard = {0};
	int error = read_heard(probe->fd, &heard);

	if (!error)
		*ret_answered = heard.answers != probe->check.answers;
	return error;
}

static void check_late(struct probe *probe, struct agent *agent)
{
	bool answered = true;
	int error = 0;

	if (take_data(probe, agent, false))
		return;
	if (probe->request.timeout_ms >= CHECK_SILENCE_MS)
		error = has_answered(probe, &answered);
	if (error)
		finish_check(probe, agent, OUTCOME_PROBE_ERROR, -error);
	else if (answered)
		finish_check(probe, agent, OUTCOME_CONNECTED, 0);
	else
		finish_check(probe, agent, OUTCOME_TIMEOUT, ETIMEDOUT);
}

const struct probe_steps check_steps = {start_check, check_ready, check_late};

/* --- listen -------------------------------------------------------------- */

static int start_listen(struct probe *probe, struct agent *agent, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct sockaddr_storage address;
	socklen_t size;
	int on = 1;

	if (inet_parse(probe->request.address, (uint16_t)probe->request.port, &address,
		       &size) != 0)
		return diag_refuse(diag, "request: address", "not an address");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&address, size) != 0 ||
	    listen(fd, LISTEN_BACKLOG) != 0)
		/* Whatever stands in the way, it is not the way to a peer. */
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, errno);
	else
		probe_finish_handle(probe, agent, 'l', take_fd(&fd), EXPIRY_NEVER,
				    OUTCOME_COUNT);
	return 0;
}

const struct probe_steps listen_steps = {.start = start_listen};

/* --- adopt --------------------------------------------------------------- */

static bool has_option(int fd, int option, int wanted)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

static bool is_tcp_listener(int fd)
{
	return (has_option(fd, SO_DOMAIN, AF_INET) ||
		has_option(fd, SO_DOMAIN, AF_INET6)) &&
	       has_option(fd, SO_PROTOCOL, IPPROTO_TCP) &&
	       has_option(fd, SO_ACCEPTCONN, 1);
}

static int start_adopt(struct probe *probe, struct agent *agent, struct diag *diag)
{
	OWN(own_fd) int fd = agent_take_passed(agent);
	struct expiry expiry;
	int flags;

	if (!agent->can_adopt)
		return diag_refuse(diag, "request",
				   "adopt is for the Unix socket (--unix) alone");
	if (fd < 0)
		return diag_refuse(diag, "request", "no descriptor came with adopt");
	if (!is_tcp_listener(fd))
		return diag_refuse(diag, "request",
				   "the descriptor is not a listening TCP socket");
	/* accept4() must not wait for a connection that has gone again. */
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, errno);
		return 0;
	}
	expiry = expiry_from_now(probe->request.expires_at_unix);
	if (expiry_is_over(expiry))
		probe_finish(probe, agent, OUTCOME_CLOSED, 0);
	else
		probe_finish_handle(probe, agent, 'l', take_fd(&fd), expiry,
				    OUTCOME_COUNT);
	return 0;
}

const struct probe_steps adopt_steps = {.start = start_adopt};

/* --- accept -------------------------------------------------------------- */

/* Errors of the connection that was to be accepted, not of the listener: Linux hands
 * them over here (accept(2), Error handling), and the next one may be well. */
static bool is_of_one_connection(int error)
{
	return error == ECONNABORTED || error == EPROTO || error == ENETDOWN ||
	       error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET ||
	       error == EHOSTUNREACH || error == EOPNOTSUPP || error == ENETUNREACH;
}

static void show_peer(const struct sockaddr_storage *peer, struct answer *answer)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *four = (const struct sockaddr_in *)peer;
	const void *address = &four->sin_addr;
	int family = peer->ss_family;

	if (family == AF_INET6)
		address = &six->sin6_addr;
	/* An IPv4 peer of an IPv6 listener is an IPv4 peer. */
	if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		family = AF_INET;
		address = &six->sin6_addr.s6_addr[12];
	}
	answer->has_remote_address = inet_ntop(family, address, answer->remote_address,
					       sizeof(answer->remote_address)) != NULL;
}

static void accept_ready(struct probe *probe, struct agent *agent)
{
	struct sockaddr_storage peer = {0};
	socklen_t size;
	int fd;

	do {
		size = sizeof(peer);
		fd = accept4(probe->fd, (struct sockaddr *)&peer, &size,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
	} while (fd < 0 && is_of_one_connection(errno));
	if (fd < 0 && errno == EAGAIN)
		return;
	if (fd < 0) {
		probe_fail(probe, agent, errno);
		return;
	}
	show_peer(&peer, &probe->answer);
	probe_finish_handle(probe, agent, 'c', fd, probe->handle->expiry,
			    OUTCOME_ACCEPTED);
}

static int start_accept(struct probe *probe, struct agent *agent, struct diag *diag)
{
	struct handle *handle;
	int found = find_handle(probe, agent, probe->request.listener, &handle, diag);

	if (found)
		return found < 0 ? found : 0;
	/* Not at once: an earlier accept may be waiting for the same connection. */
	if (borrow(probe, agent, handle))
		probe_wait(probe, agent, EPOLLIN);
	return 0;
}

const struct probe_steps accept_steps = {start_accept, accept_ready, probe_late};
