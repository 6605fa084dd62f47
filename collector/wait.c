// SPDX-License-Identifier: GPL-2.0-or-later
// Waiting: every wait has a deadline and ends at a termination signal.
#include "collector/wait.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "common/clock.h"
#include "common/own.h"

static const struct {
	int number;
	const char *name;
} ending_signals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}};

int wait_open(struct wait *ret_wait, struct diag *diag)
{
	struct wait wait = WAIT_INIT;
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
		sigaddset(&signals, ending_signals[i].number);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return diag_fail(diag, errno, NULL, "signals cannot be blocked");
	/* A peer that is gone is found by the write's errno. */
	signal(SIGPIPE, SIG_IGN);
	wait.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (wait.signal_fd < 0)
		return diag_fail(diag, errno, NULL, "signals cannot be read");
	*ret_wait = wait;
	return 0;
}

void wait_close(struct wait *wait)
{
	own_fd(&wait->signal_fd);
}

static void take_signals(struct wait *wait)
{
	struct signalfd_siginfo info;

	while (read(wait->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (!wait->signal)
			wait->signal = (int)info.ssi_signo;
}

static int explain_signal(const struct wait *wait, struct diag *diag)
{
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
		if (ending_signals[i].number == wait->signal)
			diag_fail(diag, 0, NULL, "interrupted by %s",
				  ending_signals[i].name);
	return -EINTR;
}

int wait_check(struct wait *wait, struct diag *diag)
{
	if (wait->signal_fd >= 0)
		take_signals(wait);
	return wait->signal && !wait->is_shielded ? explain_signal(wait, diag) : 0;
}

/* poll() with the two descriptors of our own behind the caller's. */
static int poll_once(struct wait *wait, struct pollfd *polled, size_t count, int timeout,
		     struct diag *diag)
{
	struct pollfd all[WAIT_FDS_MAX + 2];
	int ready;

	if (count)
		memcpy(all, polled, count * sizeof(*all));
	/* While shielded, a signal that is not read would wake us for ever. */
	all[count] = (struct pollfd){.fd = wait->is_shielded ? -1 : wait->signal_fd,
				     .events = POLLIN};
	all[count + 1] = (struct pollfd){.fd = wait->tick_fd, .events = POLLIN};
	ready = poll(all, count + 2, timeout);
	if (ready < 0)
		return errno == EINTR ? 0 : diag_fail(diag, errno, NULL, "cannot wait");
	if (count)
		memcpy(polled, all, count * sizeof(*all));
	if (all[count + 1].revents) {
		ready--;
		if (wait->on_tick)
			wait->on_tick(wait->context);
	}
	return all[count].revents ? ready - 1 : ready;
}

int wait_poll(struct wait *wait, struct pollfd *polled, size_t count, int64_t deadline_ms,
	      struct diag *diag)
{
	assert(count <= WAIT_FDS_MAX);
	for (;;) {
		int64_t left = deadline_ms - clock_boot_ms();
		int error = wait_check(wait, diag), ready;

		if (error)
			return error;
		if (left < 0)
			left = 0;
		ready = poll_once(wait, polled, count,
				  left > INT_MAX ? INT_MAX : (int)left, diag);
		if (ready != 0)
			return ready;
		error = wait_check(wait, diag);
		if (error)
			return error;
		if (clock_boot_ms() >= deadline_ms)
			return 0;
	}
}

int wait_until(struct wait *wait, int64_t deadline_ms, struct diag *diag)
{
	return wait_poll(wait, NULL, 0, deadline_ms, diag);
}

void wait_shield(struct wait *wait)
{
	wait->is_shielded = true;
}
