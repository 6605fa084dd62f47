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
#include "agent/session.h"
#include "common/own.h"

struct listener {
	const char *path, *name; /* `name` is its last component */
	int directory_fd, fd;
	dev_t device; /* of the path's inode, to know it again */
	ino_t inode;
	bool is_bound;
};

static int open_directory(struct listener *listener, struct diag *diag)
{
	char directory[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	size_t length = (size_t)(listener->name - listener->path);

	if (strlen(listener->path) >= sizeof(directory))
		return diag_usage(diag, listener->path, "longer than %zu bytes",
				  sizeof(directory) - 1);
	memcpy(directory, listener->path, length);
	directory[length] = '\0';
	listener->directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (listener->directory_fd < 0)
		return diag_refuse(diag, directory, "%s", strerror(errno));
	return 0;
}

static int bind_listener(struct listener *listener, struct diag *diag)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	mode_t mask;
	int bound;

	strcpy(address.sun_path, listener->path); /* open_directory() checked it */
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener->fd < 0)
		return diag_fail(diag, errno, listener->path, "socket");
	/* The mode is there from the first moment: a chmod() would come later. */
	mask = umask(S_IXUSR | S_IRWXG | S_IRWXO);
	bound = bind(listener->fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (bound != 0 && errno == EADDRINUSE)
		return diag_refuse(diag, listener->path, "already exists");
	if (bound != 0)
		return diag_refuse(diag, listener->path, "%s", strerror(errno));
	listener->is_bound = true;
	if (fstatat(listener->directory_fd, listener->name, &status,
		    AT_SYMLINK_NOFOLLOW) != 0)
		return diag_fail(diag, errno, listener->path, "cannot be examined");
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	if (listen(listener->fd, 16) != 0)
		return diag_fail(diag, errno, listener->path, "listen");
	return 0;
}

static void remove_path(struct listener *listener)
{
	struct stat status;

	if (!listener->is_bound)
		return;
	listener->is_bound = false;
	/* Gone or replaced: then it is not ours to remove. Nothing depends on the
	 * removal's success: who connects to a closed listener is refused. */
	if (fstatat(listener->directory_fd, listener->name, &status,
		    AT_SYMLINK_NOFOLLOW) == 0 &&
	    status.st_dev == listener->device && status.st_ino == listener->inode)
		unlinkat(listener->directory_fd, listener->name, 0);
}

static int open_listener(const char *path, struct listener *ret_listener,
			 struct diag *diag)
{
	int error;

	if (!json_is_clean_path(path) || !path[1])
		return diag_usage(diag, path, "not a clean absolute path");
	ret_listener->path = path;
	ret_listener->name = strrchr(path, '/') + 1;
	error = open_directory(ret_listener, diag);
	return error ? error : bind_listener(ret_listener, diag);
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
			return diag_fail(diag, errno, listener->path, "poll");
		if (waits[1].revents)
			return 1;
		fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		/* Who connected has gone again. */
		if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return diag_fail(diag, errno, listener->path, "accept");
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
	remove_path(listener);
	if (error)
		return error < 0 ? error : 0;
	if (dup3(fd, STDIN_FILENO, O_CLOEXEC) < 0 ||
	    dup3(fd, STDOUT_FILENO, O_CLOEXEC) < 0)
		return diag_fail(diag, errno, listener->path, "dup3");
	own_fd(&fd);
	return session_run(agent, diag);
}

int serve_run(const char *unix_path, bool is_self_allowed, struct diag *diag)
{
	/* Too large for the stack; a process serves once. */
	static struct agent agent;
	struct listener listener = {.directory_fd = -1, .fd = -1};
	struct confine_wishes wishes = {.role = CONFINE_SERVE_STANDARD,
					.remove_directory_fd = -1,
					.output_fd = -1};
	int error = agent_open(&agent, diag);

	if (!error && unix_path) {
		error = open_listener(unix_path, &listener, diag);
		wishes.role = CONFINE_SERVE_UNIX;
		wishes.remove_directory_fd = listener.directory_fd;
		agent.can_adopt = true;
	}
	if (!error)
		error = confine(&wishes, &agent, diag);
	if (!error)
		error = unix_path ? serve_unix(&listener, &agent, is_self_allowed, diag)
				  : session_run(&agent, diag);
	own_fd(&listener.fd);
	remove_path(&listener);
	own_fd(&listener.directory_fd);
	agent_close(&agent);
	return error;
}
