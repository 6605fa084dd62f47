// SPDX-License-Identifier: GPL-2.0-or-later
// One request under way: started, moved on by events, finished once.
#include "agent/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

static int start_hello(struct probe *probe, struct agent *agent, struct diag *diag)
{
	(void)diag;
	probe->answer.identity = agent->identity;
	probe->answer.sandbox = agent->sandbox;
	probe->answer.has_identity = true;
	probe_finish_plain(probe, agent);
	return 0;
}

static int start_exit(struct probe *probe, struct agent *agent, struct diag *diag)
{
	(void)diag;
	probe_finish_plain(probe, agent);
	return 0;
}

static const struct probe_steps hello_steps = {.start = start_hello};
static const struct probe_steps exit_steps = {.start = start_exit};

static const struct probe_steps *const steps[REQUEST_OP_COUNT] = {
	[REQUEST_HELLO] = &hello_steps,
	[REQUEST_CONNECT] = &attempt_steps,
	[REQUEST_HANDSHAKE] = &attempt_steps,
	[REQUEST_ESTABLISH] = &attempt_steps,
	[REQUEST_CHECK] = &check_steps,
	[REQUEST_LISTEN] = &listen_steps,
	[REQUEST_ADOPT] = &adopt_steps,
	[REQUEST_ACCEPT] = &accept_steps,
	[REQUEST_PROXY_FORWARD] = &attempt_steps,
	[REQUEST_DNS] = &dns_steps,
	[REQUEST_EXIT] = &exit_steps,
};

static bool makes_handle(enum request_op op)
{
	return op == REQUEST_ESTABLISH || op == REQUEST_LISTEN || op == REQUEST_ADOPT ||
	       op == REQUEST_ACCEPT;
}

int probe_start(struct probe *probe, struct agent *agent, const struct request *request,
		struct diag *diag)
{
	unsigned int place = probe->place;

	memset(probe, 0, sizeof(*probe));
	probe->place = place;
	probe->request = *request;
	probe->steps = steps[request->op];
	probe->fd = -1;
	probe->answer.op = (int)request->op;
	probe->answer.has_op = true;
	probe->started_us = clock_monotonic_us();
	probe->deadline_us = request->timeout_ms
				     ? probe->started_us + request->timeout_ms * 1000
				     : INT64_MAX;
	if (makes_handle(request->op)) {
		probe->handle_number = handles_issue(&agent->handles);
		if (agent->handles.open_count >= HANDLES_MAX) {
			probe_finish(probe, agent, OUTCOME_PROBE_ERROR, EMFILE);
			return 0;
		}
	}
	return probe->steps->start(probe, agent, diag);
}

void probe_finish_plain(struct probe *probe, struct agent *agent)
{
	if (probe->is_watched)
		agent_unwatch(agent, probe->fd);
	own_fd(&probe->fd);
	probe->is_watched = false;
	probe->is_done = true;
}

/* `handshake` is `connect` under other names, but a broken probe stays one. */
static enum outcome name_outcome(const struct probe *probe, enum outcome outcome)
{
	if (probe->request.op != REQUEST_HANDSHAKE || outcome == OUTCOME_PROBE_ERROR)
		return outcome;
	return outcome == OUTCOME_CONNECTED ? OUTCOME_HANDSHAKE_COMPLETED
					    : OUTCOME_HANDSHAKE_FAILED;
}

void probe_finish(struct probe *probe, struct agent *agent, enum outcome outcome,
		  int error)
{
	answer_set_outcome(&probe->answer, name_outcome(probe, outcome), error);
	probe->answer.elapsed_us = clock_monotonic_us() - probe->started_us;
	probe->answer.has_elapsed = true;
	probe_finish_plain(probe, agent);
}

void probe_fail(struct probe *probe, struct agent *agent, int error)
{
	probe_finish(probe, agent, outcome_from_errno(error, probe->family), error);
}

void probe_wait(struct probe *probe, struct agent *agent, uint32_t events)
{
	int error;

	if (probe->is_watched && probe->watched_events == events)
		return;
	error = probe->is_watched ? agent_rewatch(agent, probe->fd, events, probe->place)
				  : agent_watch(agent, probe->fd, events, probe->place);
	if (error) {
		/* ENOMEM or ENOSPC: ours, whatever the peer would have done. */
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, -error);
		return;
	}
	probe->is_watched = true;
	probe->watched_events = events;
}

void probe_finish_handle(struct probe *probe, struct agent *agent, char kind, int fd,
			 struct expiry expiry, enum outcome outcome)
{
	struct answer *answer = &probe->answer;
	char *text = kind == 'c' ? answer->connection : answer->listener;

	if (!handles_open(&agent->handles, kind, probe->handle_number, fd, expiry)) {
		close(fd);
		answer->has_remote_address = false;
		probe_finish(probe, agent, OUTCOME_PROBE_ERROR, EMFILE);
		return;
	}
	snprintf(text, HANDLE_TEXT_SIZE, "%c%u", kind, probe->handle_number);
	answer->has_connection = kind == 'c';
	answer->has_listener = kind == 'l';
	if (outcome == OUTCOME_COUNT)
		probe_finish_plain(probe, agent);
	else
		probe_finish(probe, agent, outcome, 0);
}

void probe_late(struct probe *probe, struct agent *agent)
{
	/* On a starved processor the answer may be here, and only we are late. */
	probe->steps->ready(probe, agent);
	if (!probe->is_done)
		probe_finish(probe, agent, OUTCOME_TIMEOUT, ETIMEDOUT);
}
