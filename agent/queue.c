// SPDX-License-Identifier: GPL-2.0-or-later
// Requests in flight: started as they arrive, answered in their order.
#include "agent/queue.h"

#include <assert.h>
#include <string.h>

#include "common/clock.h"

static struct probe *probe_at(struct queue *queue, unsigned int index)
{
	return &queue->probes[(queue->head + index) % QUEUE_MAX];
}

bool queue_is_full(const struct queue *queue)
{
	return queue->count == QUEUE_MAX;
}

static struct probe *append(struct queue *queue)
{
	unsigned int place = (queue->head + queue->count) % QUEUE_MAX;

	assert(!queue_is_full(queue));
	queue->probes[place].place = place;
	return &queue->probes[place];
}

int queue_start(struct queue *queue, const struct request *request, struct diag *diag)
{
	int error = probe_start(append(queue), queue->agent, request, diag);

	if (!error)
		queue->count++;
	return error;
}

void queue_refuse(struct queue *queue, enum request_op op, const struct diag *diag)
{
	struct probe *probe = append(queue);
	unsigned int place = probe->place;

	memset(probe, 0, sizeof(*probe));
	probe->place = place;
	probe->fd = -1;
	probe->is_done = true;
	probe->answer.op = (int)op;
	probe->answer.has_op = op < REQUEST_OP_COUNT;
	probe->answer.has_error = true;
	diag_render(diag, probe->answer.error, sizeof(probe->answer.error));
	queue->count++;
}

const struct answer *queue_next_answer(const struct queue *queue)
{
	const struct probe *probe = &queue->probes[queue->head];

	return queue->count > 0 && probe->is_done ? &probe->answer : NULL;
}

void queue_pop(struct queue *queue)
{
	queue->head = (queue->head + 1) % QUEUE_MAX;
	queue->count--;
}

/* Several accepts may wait on one listener: a connection is the first one's. */
static struct probe *first_waiting(struct queue *queue, struct probe *probe)
{
	for (unsigned int i = 0; i < queue->count; i++) {
		struct probe *other = probe_at(queue, i);

		if (!other->is_done && other->handle == probe->handle &&
		    other->request.op == REQUEST_ACCEPT)
			return other;
	}
	return probe;
}

void queue_dispatch(struct queue *queue, uint64_t place)
{
	struct probe *probe = &queue->probes[place];

	/* Finished by an earlier event of the same turn. */
	if (probe->is_done)
		return;
	if (probe->request.op == REQUEST_ACCEPT)
		probe = first_waiting(queue, probe);
	if (probe->handle && expiry_is_over(probe->handle->expiry))
		probe_finish(probe, queue->agent, OUTCOME_CLOSED, 0);
	else
		probe->steps->ready(probe, queue->agent);
}

void queue_end_overdue(struct queue *queue)
{
	int64_t now = clock_monotonic_us();
	struct agent *agent = queue->agent;
	struct expiry next;

	for (unsigned int i = 0; i < queue->count; i++) {
		struct probe *probe = probe_at(queue, i);

		if (!probe->is_done && probe->handle &&
		    expiry_is_over(probe->handle->expiry))
			probe_finish(probe, agent, OUTCOME_CLOSED, 0);
		else if (!probe->is_done && probe->deadline_us <= now)
			probe->steps->late(probe, agent);
	}
	handles_end_expired(&agent->handles);
	next = handles_next_expiry(&agent->handles);
	if (next.wall_ms != agent->armed.wall_ms || next.boot_ms != agent->armed.boot_ms)
		agent_arm_expiry(agent);
}

int queue_timeout_ms(const struct queue *queue)
{
	int64_t next = INT64_MAX, left;

	for (unsigned int i = 0; i < queue->count; i++) {
		const struct probe *probe = &queue->probes[(queue->head + i) % QUEUE_MAX];

		if (!probe->is_done && probe->deadline_us < next)
			next = probe->deadline_us;
	}
	if (next == INT64_MAX)
		return -1;
	left = next - clock_monotonic_us();
	/* No deadline is further away than REQUEST_TIMEOUT_MAX_MS. */
	return left > 0 ? (int)((left + 999) / 1000) : 0;
}
