/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests in flight: started as they arrive, answered in their order. */
#ifndef AGENT_QUEUE_H
#define AGENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/probe.h"

#define QUEUE_MAX 64

struct queue {
	struct agent *agent;
	struct probe probes[QUEUE_MAX];
	unsigned int head, count;
};

bool queue_is_full(const struct queue *queue);

/* Starts a request; the queue is not full. -EINVAL: it may not be made; then
 * queue_refuse() answers it. */
int queue_start(struct queue *queue, const struct request *request, struct diag *diag);

/* Puts a finished answer with the error of `diag` at the end. `op` may be
 * REQUEST_OP_COUNT. */
void queue_refuse(struct queue *queue, enum request_op op, const struct diag *diag);

/* The answer whose turn it is, if it is there; NULL otherwise. */
const struct answer *queue_next_answer(const struct queue *queue);

/* Takes that answer away. */
void queue_pop(struct queue *queue);

/* Tells the probe at `place` that its descriptor has an event. */
void queue_dispatch(struct queue *queue, uint64_t place);

/* Ends what is over now: expired handles with the probes on them, and probes past
 * their deadline. Then sets the expiry timers. */
void queue_end_overdue(struct queue *queue);

/* For epoll_wait(): milliseconds, rounded up, to the next deadline; -1: none. */
int queue_timeout_ms(const struct queue *queue);

#endif
