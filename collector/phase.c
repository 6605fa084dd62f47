// SPDX-License-Identifier: GPL-2.0-or-later
// What the phases share: beginning and end, lists of probes, the worker, the router.
#include "collector/phase.h"

#include <errno.h>
#include <string.h>

#include "collector/inspect.h"
#include "collector/netview.h"
#include "collector/positions.h"
#include "common/clock.h"

struct endpoint phase_router(const struct session *session)
{
	struct endpoint router = {.port = (uint16_t)session->site.router.port};

	strcpy(router.address, session->site.router.address);
	return router;
}

bool phase_is_router_in_engine(const struct session *session)
{
	return session->site.router_namespace == SITE_ROUTER_ROOTLESS_NETNS;
}

static int router_namespace_fd(const struct session *session)
{
	return phase_is_router_in_engine(session) ? session->engine_net_fd : -1;
}

struct probe *phase_enlist(struct phase_run *run, const char *id, size_t index)
{
	struct probe *probe = probes_find(run->set, id, index);

	run->list[run->count++] = probe;
	return probe;
}

void phase_enlist_each(struct phase_run *run, const char *id)
{
	for (size_t i = 0; i < run->session->profile.trusted_tcp_count; i++)
		phase_enlist(run, id, i);
}

/* A flow that never was cannot be asked whether it is still alive: its probe stays the
 * error it was prepared as, which no expectation accepts. */
static bool has_flow(const struct probe *probe)
{
	return probe->request.op != AGENT_CHECK || probe->request.connection[0];
}

int phase_run_list(struct phase_run *run, struct diag *diag)
{
	struct probe *list[PROBES_GROUP_MAX] = {NULL};
	size_t count = 0;

	for (size_t i = 0; i < run->count; i++)
		if (has_flow(run->list[i]))
			list[count++] = run->list[i];
	return probes_run_group(run->set, list, count, diag);
}

void phase_finish_list(struct phase_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		probes_finish(run->set, run->list[i]);
	run->count = 0;
}

int phase_start_worker(struct session *session, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	char result[UNITS_TEXT_SIZE];
	int error = units_run_job(&session->units, "StartUnit", unit,
				  clock_boot_ms() + PHASE_JOB_MS, result, diag);

	if (!error && strcmp(result, "done") != 0)
		error = diag_refuse(diag, unit,
				    "does not start (%s); see 'journalctl -u %s'", result,
				    unit);
	return error ? error : positions_find_worker(session, diag);
}

/* The listener that candidates may reach: the worker's own, or one that is opened in
 * the engine's namespace and handed to it. */
int phase_open_router(struct session *session, struct diag *diag)
{
	struct agent *worker = &session->agents[POSITION_WORKER];
	struct endpoint router = phase_router(session);
	struct agent_request request = {.op = AGENT_LISTEN, .port = router.port};
	OWN(own_fd) int fd = -1;
	struct agent_answer answer;
	int error;

	if (phase_is_router_in_engine(session)) {
		error = netview_listen(session->engine_net_fd, session->uid, &router, &fd,
				       diag);
		if (error == -EADDRINUSE)
			return diag_refuse(diag, "router",
					   "its port is taken in the engine's namespace; "
					   "end what listens there");
		if (error)
			return error;
		request = (struct agent_request){
			.op = AGENT_ADOPT,
			.expires_at_unix = session->profile.expires_at_unix};
		error = agentlink_send_fd(&worker->link, &request, fd, diag);
	} else {
		strcpy(request.address, router.address);
		error = agentlink_send(&worker->link, &request, diag);
	}
	if (!error)
		error = agentlink_receive(&worker->link,
					  clock_boot_ms() + AGENT_ALLOWANCE_MS, &answer,
					  diag);
	if (!error && !answer.has_listener)
		error = diag_refuse(diag, "router",
				    "the worker cannot listen on it (%s); end what "
				    "listens there, or correct the site",
				    answer.has_errno ? answer.error_name : "no errno");
	if (!error)
		strcpy(session->router_listener, answer.listener);
	return error;
}

int phase_accept_at_router(struct session *session, struct agent_answer *ret_answer,
			   struct diag *diag)
{
	struct agent_request accept = {.op = AGENT_ACCEPT,
				       .timeout_ms = session->targets.timeouts.accept_ms};

	strcpy(accept.listener, session->router_listener);
	return agentlink_ask(&session->agents[POSITION_WORKER].link, &accept, ret_answer,
			     diag);
}

/* The numbers of a router listener that is no more. */
int phase_look_for_router(struct session *session, struct probe *probe, struct diag *diag)
{
	struct endpoint router = phase_router(session);
	struct netview_sockets sockets;
	int error = netview_count_sockets(router_namespace_fd(session), &router, &sockets,
					  diag);

	if (error)
		return error;
	probe->record->evidence.has_listener_gone = true;
	probe->record->evidence.listener_gone = (struct evidence_listener_gone){
		.reached_before = session->router_reached,
		.listening_now = (int64_t)sockets.listening};
	return 0;
}

int phase_begin(struct session *session, enum phase_name name, struct phase_run *run,
		struct diag *diag)
{
	struct record_phase *phase =
		&session->record.phases[session->record.phase_count++];

	phase->phase = (int)name;
	phase->started_at_unix = session_now();
	run->session = session;
	run->phase = phase;
	run->count = 0;
	if (session->progress.on_phase)
		session->progress.on_phase(session->progress.context, phase_names[name]);
	return wait_check(&session->wait, diag);
}

int phase_end(struct phase_run *run, enum ruleset_state state, struct diag *diag)
{
	/* First: whatever else differs may do so for the clock's sake. */
	int error = session_check_clock(run->session, diag);

	if (!error)
		error = positions_finish_phase(run->session, run->phase, diag);
	if (!error)
		error = inspect_again(run->session, diag);
	if (!error)
		error = rules_finish_phase(run->session, state, run->phase, diag);
	if (!error)
		error = probes_close(run->set, diag);
	if (!error)
		run->phase->completed_at_unix = session_now();
	return error;
}

int phase_check_window(const struct session *session, int error, struct diag *diag)
{
	static const char told[] = "the window ended meanwhile: issue a profile with a "
				   "longer one";
	size_t used = strlen(diag->text);

	if (session_now() < session->profile.expires_at_unix)
		return error;
	if (!error)
		return diag_refuse(diag, "profile", "%s", told);
	snprintf(diag->text + used, sizeof(diag->text) - used, "; %s", told);
	return error;
}

/* The router while no worker listens: `probe` alone, between two readings of the
 * counters, or where the kernel does not guard it, by the listener's absence. */
int phase_run_router(struct phase_run *run, struct probe *probe, struct diag *diag)
{
	int error;

	if (!has_flow(probe)) {
		error = 0;
	} else if (!phase_is_router_in_engine(run->session)) {
		error = probes_run_alone(run->set, probe, diag);
	} else {
		error = phase_look_for_router(run->session, probe, diag);
		if (!error)
			error = probes_run_group(run->set, &probe, 1, diag);
	}
	if (!error)
		probes_finish(run->set, probe);
	return error;
}
