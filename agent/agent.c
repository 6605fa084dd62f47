// SPDX-License-Identifier: GPL-2.0-or-later
// What one agent process holds: opened before it is confined, then used.
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>

#include "common/clock.h"

#define RESOLVER_FILE "/etc/resolv.conf"
#define OWN_PROGRAM "/proc/self/exe"
#define OWN_PROGRAM_MAX ((uint64_t)64 << 20)

static int take_identity(struct identity *ret_identity, struct diag *diag)
{
	OWN(own_fd) int fd = open(OWN_PROGRAM, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, OWN_PROGRAM, "cannot be opened");
	ret_identity->pid = getpid();
	ret_identity->uid = getuid();
	ret_identity->gid = getgid();
	return digest_fd(fd, OWN_PROGRAM_MAX, OWN_PROGRAM,
			 ret_identity->probe_runner_sha256, diag);
}

static int open_signals(int *ret_fd, struct diag *diag)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	/* A client that went away is an error of write(), not a death. */
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return diag_fail(diag, errno, NULL, "sigprocmask");
	*ret_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? diag_fail(diag, errno, NULL, "signalfd") : 0;
}

static int open_events(struct agent *agent, struct diag *diag)
{
	agent->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	agent->wall_timer_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	agent->boot_timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (agent->epoll_fd < 0 || agent->wall_timer_fd < 0 || agent->boot_timer_fd < 0)
		return diag_fail(diag, errno, NULL, "event descriptors");
	if (agent_watch(agent, agent->wall_timer_fd, EPOLLIN, AGENT_EVENT_WALL_TIMER) ||
	    agent_watch(agent, agent->boot_timer_fd, EPOLLIN, AGENT_EVENT_BOOT_TIMER) ||
	    agent_watch(agent, agent->signal_fd, EPOLLIN, AGENT_EVENT_SIGNAL))
		return diag_fail(diag, errno, NULL, "epoll_ctl");
	return 0;
}

/* jansson would open /dev/urandom at its first object, behind the filter. */
static int seed_json(struct diag *diag)
{
	size_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return diag_fail(diag, errno, NULL, "getrandom");
	json_object_seed(seed | 1); /* 0 would mean: choose one */
	return 0;
}

int agent_open(struct agent *ret_agent, struct diag *diag)
{
	struct agent *agent = ret_agent;
	int error;

	agent->epoll_fd = agent->wall_timer_fd = agent->boot_timer_fd = -1;
	agent->signal_fd = agent->resolver_fd = -1;
	agent->armed = EXPIRY_NEVER;
	handles_init(&agent->handles);
	error = sandbox_close_descriptors(STDERR_FILENO + 1, diag);
	if (!error)
		error = take_identity(&agent->identity, diag);
	if (!error)
		error = open_signals(&agent->signal_fd, diag);
	if (!error)
		error = open_events(agent, diag);
	if (!error)
		error = seed_json(diag);
	if (error)
		return error;
	/* Without it a dns request is a probe_error: nobody to ask. */
	agent->resolver_fd = open(RESOLVER_FILE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	/* A test build opens its offsets at the first reading. */
	clock_wall_ms();
	return 0;
}

static int control(const struct agent *agent, int how, int fd, uint32_t events,
		   uint64_t data)
{
	struct epoll_event event = {.events = events, .data.u64 = data};

	return epoll_ctl(agent->epoll_fd, how, fd, &event) == 0 ? 0 : -errno;
}

int agent_watch(const struct agent *agent, int fd, uint32_t events, uint64_t data)
{
	return control(agent, EPOLL_CTL_ADD, fd, events, data);
}

int agent_rewatch(const struct agent *agent, int fd, uint32_t events, uint64_t data)
{
	return control(agent, EPOLL_CTL_MOD, fd, events, data);
}

void agent_unwatch(const struct agent *agent, int fd)
{
	/* Only a descriptor that is not watched fails: then it is as asked. */
	control(agent, EPOLL_CTL_DEL, fd, 0, 0);
}

static void set_timer(int fd, int64_t deadline_ms, int flags)
{
	struct itimerspec when = {.it_value = {0}};

	if (deadline_ms != INT64_MAX) {
		/* Zero would disarm it; what is past fires at once either way. */
		if (deadline_ms < 1)
			deadline_ms = 1;
		when.it_value.tv_sec = deadline_ms / 1000;
		when.it_value.tv_nsec = deadline_ms % 1000 * 1000000;
	}
	/* Fails for our own mistakes alone; expiries are also looked at on every
	 * turn of the loop. */
	timerfd_settime(fd, TFD_TIMER_ABSTIME | flags, &when, NULL);
}

void agent_arm_expiry(struct agent *agent)
{
	struct expiry next = handles_next_expiry(&agent->handles);

	/* Cancelled when the wall clock is set: the loop then looks again. */
	set_timer(agent->wall_timer_fd, next.wall_ms, TFD_TIMER_CANCEL_ON_SET);
	set_timer(agent->boot_timer_fd, next.boot_ms, 0);
	agent->armed = next;
}

int agent_take_passed(struct agent *agent)
{
	int fd = agent->passed_count > 0 ? agent->passed_fds[0] : -1;

	if (fd < 0)
		return -1;
	agent->passed_count--;
	memmove(agent->passed_fds, agent->passed_fds + 1,
		agent->passed_count * sizeof(agent->passed_fds[0]));
	return fd;
}

void agent_close(struct agent *agent)
{
	handles_close(&agent->handles);
	for (unsigned int i = 0; i < agent->passed_count; i++)
		own_fd(&agent->passed_fds[i]);
	agent->passed_count = 0;
	own_fd(&agent->resolver_fd);
	own_fd(&agent->signal_fd);
	own_fd(&agent->boot_timer_fd);
	own_fd(&agent->wall_timer_fd);
	own_fd(&agent->epoll_fd);
}
