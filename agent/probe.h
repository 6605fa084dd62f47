/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request under way: started, moved on by events, finished once. */
#ifndef AGENT_PROBE_H
#define AGENT_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "agent/agent.h"
#include "agent/dns.h"
#include "agent/status_line.h"

/*
 * Theory of operation
 *
 * A probe is a state machine of three steps that its op chooses: `start` when the
 * request arrives, `ready` when its descriptor has an event, `late` when its deadline
 * passes. Each step may finish it; finishing closes its own descriptor and fixes the
 * answer. Nothing a probe meets on the network is an error of these functions: it is
 * an outcome. Only a request that may not be made is one, and ends the session.
 *
 * A probe on a handle works on a duplicate of the handle's descriptor, so any number
 * may wait on one listener.
 */

struct probe;

struct probe_steps {
	/* -EINVAL, with the cause in `diag`: not allowed. */
	int (*start)(struct probe *probe, struct agent *agent, struct diag *diag);
	void (*ready)(struct probe *probe, struct agent *agent);
	void (*late)(struct probe *probe, struct agent *agent);
};

enum probe_phase { PROBE_CONNECTING, PROBE_SENDING, PROBE_READING };

struct probe {
	unsigned int place; /* in the queue */
	const struct probe_steps *steps;
	struct request request;
	struct answer answer;
	bool is_done;
	int fd;
	bool is_watched;
	uint32_t watched_events;
	int family;
	int64_t started_us, deadline_us; /* clock_monotonic_us() */
	unsigned int handle_number;      /* of the handle it will make */
	struct handle *handle;           /* that it works on, or NULL */
	struct sockaddr_storage address;
	socklen_t address_size;
	unsigned int tries; /* connect: beyond one only after a connection to itself */
	enum probe_phase phase;
	union {
		struct {
			struct dns_question question;
			bool has_stray; /* the server answered something else */
		} dns;
		struct {
			struct status_line line;
			size_t sent;
		} proxy;
		struct {
			uint32_t answers; /* that the flow had had when it began */
		} check;
	};
};

/* Starts `request` on a probe whose `place` is set. -EINVAL: not allowed, and
 * nothing was started. */
int probe_start(struct probe *probe, struct agent *agent, const struct request *request,
		struct diag *diag);

/* What the steps use. probe_finish() is called once. `error` is the errno behind
 * the outcome, or 0. */
void probe_finish(struct probe *probe, struct agent *agent, enum outcome outcome,
		  int error);

/* The same without an outcome: the op was done. */
void probe_finish_plain(struct probe *probe, struct agent *agent);

/* Finishes with what `error` says. */
void probe_fail(struct probe *probe, struct agent *agent, int error);

/* Waits for `events` on the probe's descriptor. Finishes it if that fails. */
void probe_wait(struct probe *probe, struct agent *agent, uint32_t events);

/* Makes `fd` the handle the probe was asked for and finishes it, with `outcome` or,
 * for OUTCOME_COUNT, without one. With 64 open it is a probe_error, and `fd` is
 * closed. */
void probe_finish_handle(struct probe *probe, struct agent *agent, char kind, int fd,
			 struct expiry expiry, enum outcome outcome);

/* `late` of most ops: one last look, then the time is over. */
void probe_late(struct probe *probe, struct agent *agent);

/* connect, handshake, establish, proxy_forward: attempt.c */
extern const struct probe_steps attempt_steps;
/* check, listen, adopt, accept: flow.c */
extern const struct probe_steps check_steps, listen_steps, adopt_steps, accept_steps;
/* dns: lookup.c */
extern const struct probe_steps dns_steps;

#endif
