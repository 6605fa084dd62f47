// SPDX-License-Identifier: GPL-2.0-or-later
// net-agent: one session, on standard input and output or on a Unix socket.
//
// Theory of operation
//
// The socket's owner is the agent's user, and so are the user's other processes: mode
// 0600 does not keep them out, so who connects is read from the kernel, and all but
// root are closed until root comes. Then nobody else can connect any more: the
// listener is closed and its path removed, if it is still the one we made. The
// connection becomes descriptors 0 and 1, where the filter lets bytes pass.
//
// syscalls: poll accept4 getsockopt dup3 close newfstatat unlinkat
#include "agent/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "agent/agent.h"
#include "agent/confine.h"
#include "agent/made_path.h"
#include "agent/session.h"
#include "common/own.h"

#define LISTEN_BACKLOG 16

struct listener {
	struct made_path path;
	int fd;
};

static int open_listener(const char *path, struct listener *listener, struct diag *diag)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	int bound, error;

	if (strlen(path) >= sizeof(address.sun_path))
		return diag_usage(diag, path, "longer than %zu bytes",
				  sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	error = made_path_open(path, &listener->path, diag);
	if (error)
		return error;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener->fd < 0)
		return diag_fail(diag, errno, path, "socket");
	/* The mode is there from the first moment: a chmod() would come later. */
	mask = umask(S_IXUSR | S_IRWXG | S_IRWXO);
	bound = bind(listener->fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (bound != 0)
		return diag_refuse(diag, path, "%s",
				   errno == EADDRINUSE ? "already exists"
						       : strerror(errno));
	error = made_path_remember(&listener->path, diag);
	if (!error && listen(listener->fd, LISTEN_BACKLOG) != 0)
		error = diag_fail(diag, errno, path, "listen");
	return error;
}

static bool is_allowed(int fd, const struct agent *agent, bool is_self_allowed)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return false;
	return peer.uid == 0 ||
	       (is_self_allowed && (int64_t)peer.uid == agent->identity.uid);
}

/* Waits for the one peer. Returns 1 when a signal ended the wait. */
static int await_peer(struct listener *listener, struct agent *agent,
		      bool is_self_allowed, int *ret_fd, struct diag *diag)
{
	struct pollfd waits[] = {{.fd = listener->fd, .events = POLLIN},
				 {.fd = agent->signal_fd, .events = POLLIN}};

	for (;;) {
		OWN(own_fd) int fd = -1;

		if (poll(waits, ARRAY_SIZE(waits), -1) < 0 && errno != EINTR)
			return diag_fail(diag, errno, listener->path.path, "poll");
		if (waits[1].revents)
			return 1;
		fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		/* Who connected has gone again. */
		if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return diag_fail(diag, errno, listener->path.path, "accept");
		if (!is_allowed(fd, agent, is_self_allowed))
			continue;
		*ret_fd = take_fd(&fd);
		return 0;
	}
}

static int serve_unix(struct listener *listener, struct agent *agent,
		      bool is_self_allowed, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error = await_peer(listener, agent, is_self_allowed, &fd, diag);

	own_fd(&listener->fd);
	made_path_remove(&listener->path);
	if (error)
		return error < 0 ? error : 0;
	if (dup3(fd, STDIN_FILENO, O_CLOEXEC) < 0 ||
	    dup3(fd, STDOUT_FILENO, O_CLOEXEC) < 0)
		return diag_fail(diag, errno, listener->path.path, "dup3");
	own_fd(&fd);
	return session_run(agent, diag);
}

int serve_run(const char *unix_path, bool is_self_allowed, struct diag *diag)
{
	/* Too large for the stack; a process serves once. */
	static struct agent agent;
	struct listener listener = {.path = {.directory_fd = -1}, .fd = -1};
	struct confine_wishes wishes = {.role = CONFINE_SERVE_STANDARD,
					.remove_directory_fd = -1,
					.output_fd = -1};
	int error = agent_open(&agent, diag);

	if (!error && unix_path) {
		error = open_listener(unix_path, &listener, diag);
		wishes.role = CONFINE_SERVE_UNIX;
		wishes.remove_directory_fd = listener.path.directory_fd;
		agent.can_adopt = true;
	}
	if (!error)
		error = confine(&wishes, &agent, diag);
	if (!error)
		error = unix_path ? serve_unix(&listener, &agent, is_self_allowed, diag)
				  : session_run(&agent, diag);
	own_fd(&listener.fd);
	made_path_remove(&listener.path);
	made_path_close(&listener.path);
	agent_close(&agent);
	return error;
}
