/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting: every wait has a deadline and ends at a termination signal. */
#ifndef COLLECTOR_WAIT_H
#define COLLECTOR_WAIT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/diag.h"

/*
 * Theory of operation
 *
 * SIGTERM, SIGINT and SIGHUP are blocked for the whole life of the collector
 * and read from a signalfd, so that they arrive only where somebody waits. The
 * first one is remembered: from then on every wait fails with "interrupted by
 * SIGTERM", until wait_shield() says that the endings have begun; those are
 * bounded by their own deadlines and not cut short.
 */

struct wait {
	int signal_fd;
	int signal; /* the first that arrived, or 0 */
	bool is_shielded;
	int tick_fd; /* owned elsewhere: an event that on_tick() serves, or -1 */
	void (*on_tick)(void *context);
	void *context;
};

#define WAIT_INIT                                                                        \
	{                                                                                \
		.signal_fd = -1, .tick_fd = -1                                           \
	}

/* Blocks the signals and opens their descriptor. */
int wait_open(struct wait *ret_wait, struct diag *diag);
void wait_close(struct wait *wait);

/* poll(2) on up to WAIT_FDS_MAX entries until `deadline_ms` of clock_boot_ms().
 * Returns how many are ready, 0 at the deadline, or -EINTR with a diag after
 * a termination signal, or another -errno. */
#define WAIT_FDS_MAX 8
int wait_poll(struct wait *wait, struct pollfd *polled, size_t count, int64_t deadline_ms,
	      struct diag *diag);

/* Sleeps until the deadline; returns 0, or as wait_poll() fails. */
int wait_until(struct wait *wait, int64_t deadline_ms, struct diag *diag);

/* Fails as wait_poll() does if a signal has arrived; does not wait. */
int wait_check(struct wait *wait, struct diag *diag);

/* From now on signals are remembered but end no wait. */
void wait_shield(struct wait *wait);

#endif
