// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's confinement: its filter tables, limits and files.
//
// Theory of operation
//
// Every answer of this agent is evidence, so no call may fail because of us: what is
// not listed kills the process, and a dead agent is no denial. Bytes leave a socket by
// sendto() alone (the DNS question and the CONNECT request) and a descriptor of the
// session's by write(); write() on any other descriptor kills, so no connection can
// carry a payload through it.
#include "agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* In flight, kept, and the dozen that the agent itself has open. */
#define FILES_MAX (2 * 64 + 32)
/* Heap and static data; the agent needs a twentieth of it. */
#define DATA_MAX ((uint64_t)16 << 20)

#define CALL(name)                                                                       \
	{                                                                                \
		.number = SCMP_SYS(name)                                                 \
	}
#define CALL_IF(name, argument, value)                                                   \
	{                                                                                \
		.number = SCMP_SYS(name), .condition_count = 1, .conditions = {          \
			{(argument), SCMP_CMP_EQ, (value), 0}                            \
		}                                                                        \
	}
#define CALL_IF_BOTH(name, argument, value, argument2, value2)                           \
	{                                                                                \
		.number = SCMP_SYS(name), .condition_count = 2, .conditions = {          \
			{(argument), SCMP_CMP_EQ, (value), 0},                           \
			{(argument2), SCMP_CMP_EQ, (value2), 0}                          \
		}                                                                        \
	}

#define SOCKET_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

static const struct sandbox_call common_calls[] = {
	/* TCP attempts */
	CALL_IF_BOTH(socket, 0, AF_INET, 1, SOCK_STREAM | SOCKET_FLAGS),
	CALL_IF_BOTH(socket, 0, AF_INET6, 1, SOCK_STREAM | SOCKET_FLAGS),
	CALL(connect),
	CALL_IF_BOTH(getsockopt, 1, SOL_SOCKET, 2, SO_ERROR),
	CALL(getsockname),
	CALL(close),
	/* the loop */
	CALL(epoll_ctl),
	CALL(epoll_wait),
	CALL(epoll_pwait),
	CALL(poll),
	CALL(ppoll),
	CALL(read),
	CALL_IF(write, 0, STDOUT_FILENO),
	CALL_IF(write, 0, STDERR_FILENO),
	CALL(clock_gettime), /* where the vdso has no clock */
	/* memory: never executable */
	CALL(brk),
	{SCMP_SYS(mmap), 1, {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}}},
	CALL(munmap),
	CALL(mremap),
	/* hello */
	CALL_IF(prctl, 0, PR_GET_NO_NEW_PRIVS),
	CALL_IF(prctl, 0, PR_GET_SECCOMP),
	/* the end, and a stop and continue from outside */
	CALL(exit_group),
	CALL(rt_sigreturn),
	CALL(restart_syscall),
};

static const struct sandbox_call serve_calls[] = {
	/* dns and proxy_forward; never to an address, so only where connect() went */
	CALL_IF_BOTH(socket, 0, AF_INET, 1, SOCK_DGRAM | SOCKET_FLAGS),
	CALL_IF_BOTH(sendto, 3, MSG_NOSIGNAL, 4, 0),
	CALL(recvfrom),
	CALL(getrandom),
	CALL(pread64), /* resolv.conf */
	/* establish, check */
	CALL_IF(fcntl, 1, F_DUPFD_CLOEXEC),
	CALL_IF_BOTH(setsockopt, 1, SOL_SOCKET, 2, SO_KEEPALIVE),
	CALL_IF_BOTH(setsockopt, 1, IPPROTO_TCP, 2, TCP_KEEPIDLE),
	CALL_IF_BOTH(setsockopt, 1, IPPROTO_TCP, 2, TCP_KEEPINTVL),
	CALL_IF_BOTH(setsockopt, 1, IPPROTO_TCP, 2, TCP_USER_TIMEOUT),
	CALL_IF_BOTH(getsockopt, 1, IPPROTO_TCP, 2, TCP_INFO),
	/* listen, accept */
	CALL_IF_BOTH(setsockopt, 1, SOL_SOCKET, 2, SO_REUSEADDR),
	CALL(bind),
	CALL(listen),
	CALL_IF(accept4, 3, SOCKET_FLAGS),
	/* expiry */
	CALL(timerfd_settime),
};

static const struct sandbox_call unix_calls[] = {
	/* the one connection, which becomes descriptors 0 and 1 */
	CALL_IF_BOTH(getsockopt, 1, SOL_SOCKET, 2, SO_PEERCRED),
	CALL_IF_BOTH(dup3, 1, STDIN_FILENO, 2, O_CLOEXEC),
	CALL_IF_BOTH(dup3, 1, STDOUT_FILENO, 2, O_CLOEXEC),
	/* adopt */
	CALL_IF(recvmsg, 0, STDIN_FILENO),
	CALL_IF_BOTH(getsockopt, 1, SOL_SOCKET, 2, SO_DOMAIN),
	CALL_IF_BOTH(getsockopt, 1, SOL_SOCKET, 2, SO_PROTOCOL),
	CALL_IF_BOTH(getsockopt, 1, SOL_SOCKET, 2, SO_ACCEPTCONN),
	CALL_IF(fcntl, 1, F_GETFL),
	CALL_IF(fcntl, 1, F_SETFL),
};

#ifdef NETPROOF_TEST_CLOCK
static const struct sandbox_call test_clock_calls[] = {CALL(pread64)};
#endif

/* All tables and the rows that depend on descriptors. */
#define CALLS_MAX                                                                        \
	(ARRAY_SIZE(common_calls) + ARRAY_SIZE(serve_calls) + ARRAY_SIZE(unix_calls) + 8)

struct filter {
	struct sandbox_call calls[CALLS_MAX];
	size_t count;
};

static void append(struct filter *filter, const struct sandbox_call *calls, size_t count)
{
	memcpy(filter->calls + filter->count, calls, count * sizeof(*calls));
	filter->count += count;
}

static void append_for_descriptors(struct filter *filter,
				   const struct confine_wishes *wishes)
{
	unsigned int directory = (unsigned int)wishes->remove_directory_fd;
	unsigned int output = (unsigned int)wishes->output_fd;
	const struct sandbox_call remove[] = {
		CALL_IF_BOTH(unlinkat, 0, directory, 2, 0),
		CALL_IF(newfstatat, 0, directory),
	};
	const struct sandbox_call report[] = {
		CALL_IF(write, 0, output),
		CALL_IF(fsync, 0, output),
	};

	if (wishes->remove_directory_fd >= 0)
		append(filter, remove, ARRAY_SIZE(remove));
	if (wishes->output_fd >= 0)
		append(filter, report, ARRAY_SIZE(report));
}

static int install_filter(const struct confine_wishes *wishes, struct diag *diag)
{
	struct filter filter = {.count = 0};

	append(&filter, common_calls, ARRAY_SIZE(common_calls));
	if (wishes->role != CONFINE_ONCE)
		append(&filter, serve_calls, ARRAY_SIZE(serve_calls));
	if (wishes->role == CONFINE_SERVE_UNIX)
		append(&filter, unix_calls, ARRAY_SIZE(unix_calls));
#ifdef NETPROOF_TEST_CLOCK
	append(&filter, test_clock_calls, ARRAY_SIZE(test_clock_calls));
#endif
	append_for_descriptors(&filter, wishes);
	return sandbox_filter(filter.calls, filter.count, diag);
}

static int set_limits(struct diag *diag)
{
	int error = sandbox_limit(RLIMIT_CORE, 0, diag);

	if (!error)
		error = sandbox_limit(RLIMIT_NPROC, 0, diag);
	if (!error)
		error = sandbox_limit(RLIMIT_NOFILE, FILES_MAX, diag);
	if (!error)
		error = sandbox_limit(RLIMIT_DATA, DATA_MAX, diag);
	return error;
}

int confine(const struct confine_wishes *wishes, struct agent *agent, struct diag *diag)
{
	const struct sandbox_path removable = {wishes->remove_directory_fd,
					       LANDLOCK_ACCESS_FS_REMOVE_FILE};
	bool is_landlocked = false;
	int error = sandbox_drop_privileges(diag);

	if (!error && !SANDBOX_IS_SANITIZED)
		error = set_limits(diag);
	if (!error)
		error = sandbox_restrict_files(&removable,
					       wishes->remove_directory_fd >= 0 ? 1 : 0,
					       &is_landlocked, diag);
	if (!error && !SANDBOX_IS_SANITIZED)
		error = install_filter(wishes, diag);
	if (!error)
		error = sandbox_read_state(is_landlocked, &agent->sandbox, diag);
	return error;
}
