// SPDX-License-Identifier: GPL-2.0-or-later
// What the proxy gives up before the first byte arrives.
#include "proxy/confine.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/own.h"
#include "common/sandbox.h"

#define CALL(name)                                                                       \
	{                                                                                \
		.number = SCMP_SYS(name)                                                 \
	}
#define CALL_IF(name, ...)                                                               \
	{                                                                                \
		.number = SCMP_SYS(name),                                                \
		.condition_count = sizeof((struct scmp_arg_cmp[]){__VA_ARGS__}) /        \
				   sizeof(struct scmp_arg_cmp),                          \
		.conditions = {                                                          \
			__VA_ARGS__                                                      \
		}                                                                        \
	}
#define ARGUMENT(index, value_)                                                          \
	{                                                                                \
		.arg = (index), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(value_)     \
	}

static int limit(int resource, rlim_t value, struct diag *diag)
{
	const struct rlimit limits = {value, value};

	if (setrlimit((__rlimit_resource_t)resource, &limits) != 0)
		return diag_fail(diag, errno, NULL, "setrlimit");
	return 0;
}

int confine(int listener, int epoll, struct diag *diag)
{
	const struct sandbox_call calls[] = {
		CALL_IF(accept4, ARGUMENT(0, listener),
			ARGUMENT(3, SOCK_NONBLOCK | SOCK_CLOEXEC)),
		CALL_IF(epoll_ctl, ARGUMENT(0, epoll)),
		CALL_IF(epoll_wait, ARGUMENT(0, epoll)),
		CALL_IF(epoll_pwait, ARGUMENT(0, epoll)),
		CALL(recvfrom),
		/* No destination: to the peer that connected, nobody else. */
		CALL_IF(sendto, ARGUMENT(4, 0)),
		CALL(shutdown),
		CALL(close),
		/* Where the clock cannot be read without a call. */
		CALL(clock_gettime),
		/* The last words, and the end. */
		CALL_IF(write, ARGUMENT(0, STDERR_FILENO)),
		CALL(exit_group),
		CALL(rt_sigreturn),
		CALL(restart_syscall),
	};
	int error = sandbox_drop_privileges(diag);

	if (!error)
		error = limit(RLIMIT_NPROC, 0, diag);
	if (!error)
		error = limit(RLIMIT_CORE, 0, diag);
	return error ? error : sandbox_filter(calls, ARRAY_SIZE(calls), diag);
}
