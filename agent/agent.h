/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one agent process holds: opened before it is confined, then used. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "agent/answer.h"
#include "agent/handles.h"
#include "common/diag.h"

/* epoll's data for what is not a probe; a probe's is its place in the queue. */
enum agent_event {
	AGENT_EVENT_INPUT = 1000,
	AGENT_EVENT_OUTPUT,
	AGENT_EVENT_WALL_TIMER,
	AGENT_EVENT_BOOT_TIMER,
	AGENT_EVENT_SIGNAL,
};

/* Descriptors that may wait for their adopt: that of a line which has not arrived
 * whole, and one that came with the piece that completes it (see session.h). */
#define AGENT_PASSED_MAX 2

struct agent {
	int epoll_fd;
	int wall_timer_fd, boot_timer_fd; /* the next expiry, on either clock */
	int signal_fd;                    /* SIGTERM, SIGINT and SIGHUP */
	int resolver_fd;                  /* resolv.conf, or -1: there is none */
	int passed_fds[AGENT_PASSED_MAX]; /* for the next adopts, in their order */
	unsigned int passed_count;
	bool can_adopt;
	struct identity identity;
	struct sandbox_state sandbox;
	struct handles handles;
	struct expiry armed; /* what the timers are set to */
};

/* Opens what an agent needs, and takes the digest of the program that runs, before
 * it is confined. Stray descriptors are closed first; SIGPIPE is ignored. */
int agent_open(struct agent *ret_agent, struct diag *diag);

/* Watches `fd` for epoll's `events` from now on; changes them when it is watched.
 * Returns 0 or -errno; -EPERM: a file that is always ready. */
int agent_watch(const struct agent *agent, int fd, uint32_t events, uint64_t data);
int agent_rewatch(const struct agent *agent, int fd, uint32_t events, uint64_t data);
void agent_unwatch(const struct agent *agent, int fd);

/* Sets the timers to the next expiry of a handle. */
void agent_arm_expiry(struct agent *agent);

/* The descriptor passed first, which the caller then owns; -1: there is none. */
int agent_take_passed(struct agent *agent);

/* Closes what is still open. */
void agent_close(struct agent *agent);

#endif
