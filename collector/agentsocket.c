// SPDX-License-Identifier: GPL-2.0-or-later
// Reaching the Unix socket of an agent that was started elsewhere.
#include "collector/agentsocket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <linux/openat2.h>

#include "collector/fdpass.h"
#include "common/clock.h"
#include "common/own.h"

enum { RETRY_MS = 5 };

static int open_beneath(int folder_fd, const char *name, uint64_t flags, uint64_t resolve)
{
	const struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int agentsocket_open_folder(const struct process *process, const char *path, int *ret_fd,
			    struct diag *diag)
{
	OWN(own_fd)
	int root = openat(process->directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (root < 0)
		return diag_fail(diag, errno, path,
				 "the process's root cannot be opened");
	fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY,
			  RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return diag_refuse(
			diag, path,
			"is no folder of the process's (%s); find what changes its files",
			strerror(-fd));
	*ret_fd = fd;
	return 0;
}

/* Waits for the name to appear. Returns 1 when something happened in the folder. */
static int await_change(struct wait *wait, int watch_fd, int64_t deadline_ms,
			struct diag *diag)
{
	struct pollfd polled = {.fd = watch_fd, .events = POLLIN};
	char events[4096];
	int ready = wait_poll(wait, &polled, 1, deadline_ms, diag);

	/* Which name it was does not matter: the folder is looked at again. */
	if (ready > 0 && read(watch_fd, events, sizeof(events)) < 0 && errno != EAGAIN)
		return diag_fail(diag, errno, NULL, "a folder cannot be watched");
	return ready;
}

static int open_socket(struct wait *wait, int folder_fd, const char *name,
		       int64_t deadline_ms, int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", folder_fd);
	if (watch_fd < 0 ||
	    inotify_add_watch(watch_fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0)
		return diag_fail(diag, errno, name, "its folder cannot be watched");
	for (;;) {
		OWN(own_fd)
		int fd = open_beneath(folder_fd, name, O_PATH | O_NOFOLLOW,
				      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
		int ready;

		if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)))
			return diag_refuse(diag, name,
					   "is not a socket; find what put it there");
		if (fd >= 0) {
			*ret_fd = take_fd(&fd);
			return 0;
		}
		if (fd != -ENOENT)
			return diag_refuse(
				diag, name,
				"cannot be reached (%s); find what changes its files",
				strerror(-fd));
		ready = await_change(wait, watch_fd, deadline_ms, diag);
		if (ready < 0)
			return ready;
		if (ready == 0)
			return diag_refuse(diag, name,
					   "the agent has not opened it; see what its "
					   "unit or container logged");
	}
}

struct connection {
	int socket_fd; /* O_PATH */
	const struct agentsocket_peer *peer;
};

static int make_connection(void *context, int *ret_fd)
{
	const struct connection *connection = context;
	const struct agentsocket_peer *peer = connection->peer;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (peer->uid != 0 &&
	    (setgroups(0, NULL) != 0 || setresgid(peer->gid, peer->gid, peer->gid) != 0 ||
	     setresuid(peer->uid, peer->uid, peer->file_uid) != 0))
		return -errno;
	/* Permitted without a capability: it is the saved id. */
	setfsuid(peer->file_uid);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d",
		 connection->socket_fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int agentsocket_connect(struct wait *wait, int folder_fd, const char *name,
			const struct agentsocket_peer *peer, int64_t deadline_ms,
			int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int socket_fd = -1;
	struct connection connection = {.peer = peer};
	int error = open_socket(wait, folder_fd, name, deadline_ms, &socket_fd, diag);

	if (error)
		return error;
	connection.socket_fd = socket_fd;
	for (;;) {
		error = fdpass_run(make_connection, &connection, socket_fd, ret_fd, diag);
		/* Bound and not yet listening: no event tells the difference. */
		if (error != -ECONNREFUSED || clock_boot_ms() >= deadline_ms)
			break;
		error = wait_until(wait, clock_boot_ms() + RETRY_MS, diag);
		if (error)
			return error;
	}
	if (!error || diag->kind)
		return error;
	return diag_refuse(diag, name,
			   "the agent's socket cannot be connected to (%s); find what "
			   "took or closed it",
			   strerror(-error));
}
