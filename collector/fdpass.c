// SPDX-License-Identifier: GPL-2.0-or-later
// Handing one descriptor from a short child to its parent.
#include "collector/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/own.h"

enum { CHILD_MS = 5000, ERROR_LIMIT = 4096 };

struct job {
	fdpass_make *make;
	void *context;
	int channel;
};

static int be_child(void *context)
{
	const struct job *job = context;
	char control[CMSG_SPACE(sizeof(int))] = {0};
	int fd = -1, error = job->make(job->context, &fd);
	struct iovec part = {&error, sizeof(error)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *head;

	if (!error) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		head = CMSG_FIRSTHDR(&message);
		*head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	return sendmsg(job->channel, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(error)
		       ? 0
		       : 1;
}

static int receive(int channel, int *ret_fd, struct diag *diag)
{
	char control[CMSG_SPACE(sizeof(int))];
	int error = -EIO;
	struct iovec part = {&error, sizeof(error)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *head;

	if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(error))
		return diag_fail(diag, EIO, "helper", "hands over nothing");
	head = CMSG_FIRSTHDR(&message);
	if (error)
		return error;
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return diag_fail(diag, EIO, "helper", "hands over nothing");
	memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
	return 0;
}

int fdpass_run(fdpass_make *make, void *context, int keep_fd, int *ret_fd,
	       struct diag *diag)
{
	OWN(own_fd) int ours = -1;
	OWN(own_fd) int theirs = -1;
	OWN(child_result_release) struct child_result result = {0};
	struct job job = {make, context, -1};
	int ends[2], kept[2], error;
	const struct child_spec spec = {.function = be_child,
					.context = &job,
					.timeout_ms = CHILD_MS,
					.output_limit = 1,
					.error_limit = ERROR_LIMIT,
					.keep_fds = kept,
					.keep_count = keep_fd >= 0 ? 2 : 1};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return diag_fail(diag, errno, "helper", "cannot make a channel");
	ours = ends[0];
	theirs = ends[1];
	job.channel = theirs;
	kept[0] = theirs;
	kept[1] = keep_fd;
	error = child_run(&spec, &result, diag);
	return error ? error : receive(ours, ret_fd, diag);
}
