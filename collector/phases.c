// SPDX-License-Identifier: GPL-2.0-or-later
// The four phases (SPEC 7.3).
#include "collector/phases.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/netview.h"
#include "collector/oneshot.h"
#include "collector/positions.h"
#include "collector/probes.h"
#include "collector/rules.h"
#include "common/clock.h"
#include "policy/ruleset.h"

enum {
	JOB_MS = 60000,
	GRACE_SECONDS = 3, /* SPEC 7.3: after the expiry */
	HELD_MS = 1000,    /* a control's own flow, still alive after this long */
};

struct phase_run {
	struct session *session;
	struct record_phase *phase;
	struct probe_set *set;
	struct probe *list[PROBES_GROUP_MAX];
	size_t count;
};

/* --- what phases share ------------------------------------------------------------ */

static struct endpoint router_of(const struct session *session)
{
	struct endpoint router = {.port = (uint16_t)session->site.router.port};

	strcpy(router.address, session->site.router.address);
	return router;
}

static bool is_router_in_engine(const struct session *session)
{
	return session->site.router_namespace == SITE_ROUTER_ROOTLESS_NETNS;
}

static int router_namespace_fd(const struct session *session)
{
	return is_router_in_engine(session) ? session->engine_net_fd : -1;
}

/* Puts a probe on the list of the next group. */
static struct probe *enlist(struct phase_run *run, const char *id, size_t index)
{
	struct probe *probe = probes_find(run->set, id, index);

	run->list[run->count++] = probe;
	return probe;
}

static void enlist_each(struct phase_run *run, const char *id)
{
	for (size_t i = 0; i < run->session->profile.trusted_tcp_count; i++)
		enlist(run, id, i);
}

/* A flow that never was cannot be asked whether it is still alive: its probe stays the
 * error it was prepared as, which no expectation accepts. */
static bool has_flow(const struct probe *probe)
{
	return probe->request.op != AGENT_CHECK || probe->request.connection[0];
}

static int run_list(struct phase_run *run, struct diag *diag)
{
	struct probe *list[PROBES_GROUP_MAX] = {NULL};
	size_t count = 0;

	for (size_t i = 0; i < run->count; i++)
		if (has_flow(run->list[i]))
			list[count++] = run->list[i];
	return probes_run_group(run->set, list, count, diag);
}

/* Judges what is on the list, and empties it. */
static void finish_list(struct phase_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		probes_finish(run->set, run->list[i]);
	run->count = 0;
}

static int start_worker(struct session *session, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	char result[UNITS_TEXT_SIZE];
	int error = units_run_job(&session->units, "StartUnit", unit,
				  clock_boot_ms() + JOB_MS, result, diag);

	if (!error && strcmp(result, "done") != 0)
		error = diag_refuse(diag, unit,
				    "does not start (%s); see 'journalctl -u %s'", result,
				    unit);
	return error ? error : positions_find_worker(session, diag);
}

/* The listener that candidates may reach: the worker's own, or one that is opened in
 * the engine's namespace and handed to it. */
static int open_router(struct session *session, struct diag *diag)
{
	struct agent *worker = &session->agents[POSITION_WORKER];
	struct endpoint router = router_of(session);
	struct agent_request request = {.op = AGENT_LISTEN, .port = router.port};
	OWN(own_fd) int fd = -1;
	struct agent_answer answer;
	int error;

	if (is_router_in_engine(session)) {
		error = netview_listen(session->engine_net_fd, session->uid, &router, &fd,
				       diag);
		if (error == -EADDRINUSE)
			return diag_refuse(diag, "router",
					   "its port is taken in the engine's namespace");
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
		error = diag_refuse(diag, "router", "the worker cannot listen on it (%s)",
				    answer.has_errno ? answer.error_name : "no errno");
	if (!error)
		strcpy(session->router_listener, answer.listener);
	return error;
}

static int accept_at_router(struct session *session, struct agent_answer *ret_answer,
			    struct diag *diag)
{
	struct agent_request accept = {.op = AGENT_ACCEPT,
				       .timeout_ms = session->targets.timeouts.accept_ms};

	strcpy(accept.listener, session->router_listener);
	return agentlink_ask(&session->agents[POSITION_WORKER].link, &accept, ret_answer,
			     diag);
}

/* The numbers of a router listener that is no more. */
static int look_for_router(struct session *session, struct probe *probe,
			   struct diag *diag)
{
	struct endpoint router = router_of(session);
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

static int begin_phase(struct session *session, enum phase_name name,
		       struct phase_run *run, struct diag *diag)
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

static int end_phase(struct phase_run *run, enum ruleset_state state, struct diag *diag)
{
	int error = positions_finish_phase(run->session, run->phase, diag);

	if (!error)
		error = rules_finish_phase(run->session, state, run->phase, diag);
	if (!error)
		error = probes_close(run->set, diag);
	if (!error)
		run->phase->completed_at_unix = session_now();
	return error;
}

/* --- active ----------------------------------------------------------------------- */

static void fill_binding(struct session *session, const struct record_comparison *scoped)
{
	struct record_binding *binding = &session->record.network_binding;
	struct ruleset_counts counts = ruleset_count_rules(&session->profile);
	char cgroup[SITE_CGROUP_SIZE];

	session->record.has_network_binding = true;
	site_worker_cgroup(&session->site, cgroup);
	strcpy(binding->worker_cgroup, cgroup);
	strcpy(binding->nft_table, session->site.table);
	strcpy(binding->scoped_ruleset_sha256, scoped->ruleset_sha256);
	strcpy(binding->scoped_kernel_sha256, scoped->kernel_sha256);
	strcpy(binding->deny_ruleset_sha256, session->guard.ruleset_sha256);
	strcpy(binding->deny_kernel_sha256, session->guard.kernel_sha256);
	strcpy(binding->foreign_sha256, scoped->foreign_sha256);
	binding->scoped_output_rules = counts.scoped_output;
	binding->scoped_input_rules = counts.scoped_input;
	strcpy(binding->worker_unit_sha256, session->worker_form->sha256);
	strcpy(binding->refusing_proxy_unit, session->site.proxy_unit);
	strcpy(binding->refusing_proxy_sha256, session->proxy_sha256);
}

static int set_up_active(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	int error = journal_note(&session->journal, JOURNAL_WORKER,
				 session->site.worker_unit, diag);

	if (!error)
		error = positions_start_control(session, diag);
	if (!error)
		error = start_worker(session, diag);
	if (!error)
		error = rules_compare_phase(session, RULESET_SCOPED, COMPARISON_BEGIN,
					    run->phase, diag);
	if (error)
		return error;
	fill_binding(session, &run->phase->comparisons[0]);
	error = positions_start_daemon(session, diag);
	if (!error)
		error = positions_start_subordinate(session, diag);
	if (!error)
		error = positions_start_containers(session, diag);
	if (!error)
		error = open_router(session, diag);
	return error;
}

static int classify_source(struct session *session, const struct agent_answer *accepted,
			   int *ret_observed, struct diag *diag)
{
	enum netview_route route;
	int error;

	*ret_observed = accepted->has_outcome ? accepted->outcome : OBSERVED_PROBE_ERROR;
	if (accepted->outcome != OUTCOME_ACCEPTED || !accepted->has_remote_address)
		return 0;
	if (strcmp(accepted->remote_address,
		   session->agents[POSITION_CANDIDATE].address) == 0) {
		*ret_observed = OBSERVED_CONTAINER_ADDRESS;
		return 0;
	}
	error = netview_route(-1, accepted->remote_address, &route, diag);
	if (!error)
		*ret_observed = route == NETVIEW_ROUTE_LOCAL ? OBSERVED_HOST_ADDRESS
							     : OBSERVED_OTHER_ADDRESS;
	return error;
}

/* What the candidate may reach, and as whom. */
static int run_reachable(struct phase_run *run, struct exchange *ret_alive,
			 struct diag *diag)
{
	struct session *session = run->session;
	struct probe *router = enlist(run, "candidate.router.connect", 0);
	struct probe *proxy = enlist(run, "candidate.proxy.connect", 0);
	struct probe *forward = enlist(run, "candidate.proxy.forward", 0);
	struct probe *source = probes_find(run->set, "candidate.router.source", 0);
	struct agent_answer accepted;
	int error;

	forward->record->evidence.has_refusal = true;
	strcpy(forward->record->evidence.refusal.service_sha256, session->proxy_sha256);
	error = run_list(run, diag);
	if (error)
		return error;
	session->router_reached += router->record->observed == OBSERVED_CONNECTED;
	*ret_alive = (struct exchange){proxy->record->observed,
				       proxy->record->evidence.elapsed_us,
				       proxy->record->evidence.at_unix};
	error = accept_at_router(session, &accepted, diag);
	if (error)
		return error;
	probes_take_answer(source, &accepted);
	error = classify_source(session, &accepted, &source->record->observed, diag);
	run->list[run->count++] = source;
	if (!error)
		finish_list(run);
	return error;
}

/* A listener of ours on the engine's API port in the engine's namespace is reached,
 * taken away, and seen to be gone: the refusal that follows is then that of a
 * place where nothing listens. */
static int show_api_gone(struct session *session, struct probe *probe, struct diag *diag)
{
	struct evidence_listener_gone *gone = &probe->record->evidence.listener_gone;
	struct endpoint api = router_of(session);
	struct exchange exchange;
	OWN(own_fd) int fd = -1;
	struct netview_sockets sockets;
	int error;

	api.port = (uint16_t)session->targets.docker_api_port;
	error = netview_listen(session->engine_net_fd, session->uid, &api, &fd, diag);
	/* A port that is taken is what the probe is about: it will tell. */
	if (error && error != -EADDRINUSE)
		return error;
	if (!error) {
		error = probes_exchange(&session->agents[POSITION_CANDIDATE],
					&probe->request, &exchange, diag);
		if (error)
			return error;
		gone->reached_before = exchange.outcome == OBSERVED_CONNECTED;
		own_fd(&fd);
	}
	error = netview_count_sockets(session->engine_net_fd, &api, &sockets, diag);
	gone->listening_now = (int64_t)sockets.listening;
	probe->record->evidence.has_listener_gone = true;
	return error;
}

struct watches {
	struct listener_watch loopback, sibling, api;
};

static int start_watches(struct phase_run *run, struct watches *watches,
			 struct diag *diag)
{
	struct session *session = run->session;
	struct agent *control = &session->agents[POSITION_CONTROL];
	struct agent *sibling = &session->agents[POSITION_SIBLING];
	const struct targets *targets = &session->targets;
	struct probe *api = probes_find(run->set, "candidate.docker_api", 0);
	int error =
		probes_watch_start(session, control, "127.0.0.1",
				   targets->host_loopback.port, &watches->loopback, diag);

	if (!error)
		error = probes_watch_start(session, sibling, sibling->address,
					   targets->sibling_port, &watches->sibling,
					   diag);
	probes_find(run->set, "candidate.host_loopback", 0)
		->record->evidence.has_listener = true;
	probes_find(run->set, "candidate.sibling_attempt", 0)
		->record->evidence.has_listener = true;
	if (error)
		return error;
	if (is_router_in_engine(session))
		return show_api_gone(session, api, diag);
	api->record->evidence.has_listener = true;
	return probes_watch_start(session, control, session->site.router.address,
				  targets->docker_api_port, &watches->api, diag);
}

static int end_watch(struct phase_run *run, struct listener_watch *watch, const char *id,
		     const struct exchange *before, const struct exchange *after,
		     struct diag *diag)
{
	struct record_probe *record = probes_find(run->set, id, 0)->record;
	int error = probes_watch_end(run->session, watch, diag);

	record->evidence.listener = watch->numbers;
	record->evidence.listener.alive_before = *before;
	record->evidence.listener.alive_after = *after;
	return error;
}

static int end_watches(struct phase_run *run, struct watches *watches,
		       const struct exchange *alive_before, struct diag *diag)
{
	struct session *session = run->session;
	struct agent_request proxy =
		probes_connect(session->site.proxy.address, session->site.proxy.port,
			       session->targets.timeouts.connect_ms);
	struct exchange after;
	int error = probes_exchange(&session->agents[POSITION_CANDIDATE], &proxy, &after,
				    diag);

	if (!error)
		error = end_watch(run, &watches->loopback, "candidate.host_loopback",
				  alive_before, &after, diag);
	if (!error)
		error = end_watch(run, &watches->sibling, "candidate.sibling_attempt",
				  alive_before, &after, diag);
	if (!error && !is_router_in_engine(session))
		error = end_watch(run, &watches->api, "candidate.docker_api",
				  alive_before, &after, diag);
	return error;
}

/* Ids and interfaces, read from outside. */
static int run_read(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	const struct agent *candidate = &session->agents[POSITION_CANDIDATE];
	struct probe *identity = enlist(run, "candidate.identity", 0);
	struct probe *host_ids = enlist(run, "candidate.host_ids", 0);
	struct probe *interfaces = enlist(run, "executor.interfaces", 0);
	struct evidence_identity *inside = &identity->record->evidence.identity;
	struct evidence_identity *outside = &host_ids->record->evidence.identity;
	struct evidence_interfaces *seen = &interfaces->record->evidence.interfaces;
	char names[16][NETVIEW_NAME_SIZE];
	const struct agent_request hello = {.op = AGENT_HELLO};
	struct agent_answer answer;
	uint32_t expected = 0;
	size_t count;
	int error = agentlink_ask(&session->agents[POSITION_CANDIDATE].link, &hello,
				  &answer, diag);

	if (!error)
		error = netview_interfaces(session->agents[POSITION_EXECUTOR].net_fd,
					   names, ARRAY_SIZE(names), &count, diag);
	if (error)
		return error;
	*inside = (struct evidence_identity){answer.uid, answer.gid,
					     session->site.candidate_uid,
					     session->site.candidate_uid};
	if (!positions_subordinate_id(session, (uint32_t)session->site.candidate_uid,
				      &expected))
		return diag_refuse(diag, "subordinate ids", "there are too few");
	*outside = (struct evidence_identity){
		candidate->measured.uid, candidate->measured.gid, expected, expected};
	for (size_t i = 0; i < count; i++)
		if (i < ARRAY_SIZE(names) && strcmp(names[i], "lo") == 0)
			seen->loopback++;
		else
			seen->others++;
	identity->record->evidence.has_identity = true;
	host_ids->record->evidence.has_identity = true;
	interfaces->record->evidence.has_interfaces = true;
	for (size_t i = 0; i < run->count; i++)
		run->list[i]->record->evidence.at_unix = session_now();
	identity->record->observed =
		inside->uid == inside->expected_uid && inside->gid == inside->expected_gid
			? OBSERVED_IDENTITY_EXACT
			: OBSERVED_IDENTITY_DIFFERENT;
	host_ids->record->observed = outside->uid == outside->expected_uid &&
						     outside->gid == outside->expected_gid
					     ? OBSERVED_IDENTITY_EXACT
					     : OBSERVED_IDENTITY_DIFFERENT;
	interfaces->record->observed = seen->loopback == 1 && !seen->others
					       ? OBSERVED_ONLY_LOOPBACK
					       : OBSERVED_OTHER_INTERFACES;
	finish_list(run);
	return 0;
}

static int run_active_probes(struct phase_run *run, struct diag *diag)
{
	static const char *const single[] = {"candidate.dns",
					     "candidate.metadata",
					     "candidate.public",
					     "candidate.ipv6",
					     "candidate.host_loopback",
					     "candidate.sibling_attempt",
					     "candidate.docker_api",
					     "worker.public",
					     "worker.ipv6",
					     "worker.metadata",
					     "worker.dns",
					     "daemon.public",
					     "daemon.ipv6",
					     "daemon.metadata",
					     "daemon.dns",
					     "daemon.subordinate"};
	struct watches watches = {0};
	struct exchange alive;
	int error = run_reachable(run, &alive, diag);

	if (!error)
		error = start_watches(run, &watches, diag);
	if (error)
		return error;
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		enlist(run, single[i], 0);
	enlist_each(run, "candidate.trusted");
	enlist_each(run, "worker.trusted.handshake");
	enlist_each(run, "daemon.trusted");
	error = run_list(run, diag);
	if (!error)
		error = end_watches(run, &watches, &alive, diag);
	if (!error)
		finish_list(run);
	return error ? error : run_read(run, diag);
}

static int run_active(struct session *session, struct probe_set *set, struct diag *diag)
{
	struct phase_run run = {.set = set};
	int error = begin_phase(session, PHASE_ACTIVE, &run, diag);

	if (!error)
		error = set_up_active(&run, diag);
	if (!error)
		error = probes_prepare(session, PHASE_ACTIVE, run.phase, set, diag);
	if (!error)
		error = run_active_probes(&run, diag);
	return error ? error : end_phase(&run, RULESET_SCOPED, diag);
}

/* --- stop and rollback ------------------------------------------------------------ */

/* The router while no worker listens: `probe` alone, between two readings of the
 * counters, or where the kernel does not guard it, by the listener's absence. */
static int run_router(struct phase_run *run, struct probe *probe, struct diag *diag)
{
	int error;

	if (!has_flow(probe)) {
		error = 0;
	} else if (!is_router_in_engine(run->session)) {
		error = probes_run_alone(run->set, probe, diag);
	} else {
		error = look_for_router(run->session, probe, diag);
		if (!error)
			error = probes_run_group(run->set, &probe, 1, diag);
	}
	if (!error)
		probes_finish(run->set, probe);
	return error;
}

static int await_stop(struct session *session, const char *wanted, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	char result[UNITS_TEXT_SIZE];
	struct unit_view view;
	int error =
		units_await_job(&session->units, clock_boot_ms() + JOB_MS, result, diag);

	if (!error && strcmp(result, "done") != 0)
		error = diag_refuse(diag, unit, "its stop ended as '%s'", result);
	if (!error)
		error = units_read(&session->units, unit, &view, diag);
	if (!error && strcmp(view.active_state, wanted) != 0)
		error = diag_refuse(diag, unit, "is %s after its stop (%s)",
				    view.active_state, view.result);
	return error;
}

static int run_stop_rollback(struct session *session, struct probe_set *set,
			     struct diag *diag)
{
	struct phase_run run = {.set = set};
	OWN(oneshot_close) struct oneshot oneshot = ONESHOT_INIT;
	int error = begin_phase(session, PHASE_STOP_ROLLBACK, &run, diag);

	if (!error)
		error = probes_prepare(session, PHASE_STOP_ROLLBACK, run.phase, set,
				       diag);
	if (!error)
		error = oneshot_prepare(set, &oneshot, diag);
	if (error)
		return error;
	positions_forget_worker(session);
	error = units_begin_job(&session->units, "StopUnit", session->site.worker_unit,
				diag);
	if (!error)
		error = oneshot_await(&oneshot, diag);
	if (!error)
		error = rules_compare_phase(session, RULESET_DENY, COMPARISON_BEGIN,
					    run.phase, diag);
	if (error)
		return error;
	enlist_each(&run, "worker.trusted.after_stop");
	error = oneshot_run(&oneshot, run.list, run.count, run.phase, diag);
	if (!error)
		error = await_stop(session, "inactive", diag);
	if (error)
		return error;
	finish_list(&run);
	enlist(&run, "daemon.public.after_stop", 0);
	error = run_list(&run, diag);
	if (error)
		return error;
	finish_list(&run);
	error = run_router(&run, probes_find(set, "candidate.router.after_stop", 0),
			   diag);
	return error ? error : end_phase(&run, RULESET_DENY, diag);
}

/* --- expiry ----------------------------------------------------------------------- */

static struct agent_request check_of(const struct session *session,
				     const char *connection)
{
	struct agent_request request = {.op = AGENT_CHECK,
					.timeout_ms = session->targets.timeouts.check_ms};

	strcpy(request.connection, connection);
	return request;
}

static struct agent_request establish_to(const struct session *session,
					 const struct endpoint *endpoint)
{
	struct agent_request request = probes_connect(
		endpoint->address, endpoint->port, session->targets.timeouts.connect_ms);

	request.op = AGENT_ESTABLISH;
	return request;
}

/* One flow of `agent` to each trusted endpoint, all at once. */
static int send_flows(struct session *session, struct agent *agent, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < session->profile.trusted_tcp_count; i++) {
		struct endpoint trusted = session_trusted(session, i);
		struct agent_request request = establish_to(session, &trusted);

		error = agentlink_send(&agent->link, &request, diag);
	}
	return error;
}

static int receive_flow(struct session *session, struct agent *agent,
			struct agent_answer *ret_answer, struct diag *diag)
{
	return agentlink_receive(&agent->link,
				 clock_boot_ms() + session->targets.timeouts.connect_ms +
					 AGENT_ALLOWANCE_MS,
				 ret_answer, diag);
}

/* The worker's flows to the trusted endpoints, and the control agent's beside. */
static int hold_trusted(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	struct agent *worker = &session->agents[POSITION_WORKER];
	struct agent *control = &session->agents[POSITION_CONTROL];
	int error = send_flows(session, worker, diag);

	if (!error)
		error = send_flows(session, control, diag);
	for (size_t i = 0; !error && i < session->profile.trusted_tcp_count; i++) {
		struct probe *probe = probes_find(
			run->set, "worker.trusted.established_after_expiry", i);
		struct agent_answer own, beside;

		error = receive_flow(session, worker, &own, diag);
		if (!error)
			error = receive_flow(session, control, &beside, diag);
		if (error)
			break;
		probe->request = check_of(session, own.connection);
		probe->control = check_of(session, beside.connection);
		probe->control.timeout_ms = HELD_MS;
		probe->has_control = beside.has_connection;
		probe->record->evidence.control.held = true;
	}
	return error;
}

/* The candidate's flow to the router. In the host's namespace it is the worker's
 * side that the policy cuts, and that is asked. */
static int hold_router(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	struct probe *probe =
		probes_find(run->set, "candidate.router.established_after_expiry", 0);
	struct endpoint router = router_of(session);
	struct agent_request request = establish_to(session, &router);
	struct agent_answer candidate, worker;
	int error = agentlink_ask(&session->agents[POSITION_CANDIDATE].link, &request,
				  &candidate, diag);

	if (!error)
		error = accept_at_router(session, &worker, diag);
	if (error)
		return error;
	session->router_reached += candidate.outcome == OUTCOME_CONNECTED;
	if (is_router_in_engine(session)) {
		probe->request = check_of(session, candidate.connection);
	} else {
		probe->agent = &session->agents[POSITION_WORKER];
		probe->request = check_of(session, worker.connection);
	}
	return 0;
}

static int await_expiry(struct session *session, struct diag *diag)
{
	int64_t until_ms = (session->profile.expires_at_unix + GRACE_SECONDS) * 1000;

	for (;;) {
		int64_t left = until_ms - clock_wall_ms();
		int error;

		if (left <= 0)
			return 0;
		/* A wall clock that is set meanwhile is looked at every second. */
		session_step(session, "%lld s to the expiry and its grace",
			     (long long)(left + 999) / 1000);
		error = wait_until(&session->wait,
				   clock_boot_ms() + (left > 1000 ? 1000 : left), diag);
		if (error)
			return error;
	}
}

static int check_same_policy(struct session *session, const struct record_phase *phase,
			     struct diag *diag)
{
	const struct record_binding *binding = &session->record.network_binding;
	const struct record_comparison *now = &phase->comparisons[0];

	if (strcmp(binding->scoped_kernel_sha256, now->kernel_sha256) != 0 ||
	    strcmp(binding->scoped_ruleset_sha256, now->ruleset_sha256) != 0)
		return diag_refuse(diag, session->site.table,
				   "is not what the same profile made of it before");
	return 0;
}

static int set_up_expiry(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	/* Without a plan, the unit's net-once does nothing. */
	int error = oneshot_remove_files(session, diag);

	if (!error)
		error = start_worker(session, diag);
	if (!error)
		error = rules_compare_phase(session, RULESET_SCOPED, COMPARISON_BEGIN,
					    run->phase, diag);
	if (!error)
		error = check_same_policy(session, run->phase, diag);
	if (!error)
		error = open_router(session, diag);
	if (!error)
		error = hold_trusted(run, diag);
	if (!error)
		error = hold_router(run, diag);
	if (!error && session_now() >= session->profile.expires_at_unix)
		error = diag_refuse(diag, "profile",
				    "its window was too short for the phases before the "
				    "expiry; issue one with a longer window");
	return error ? error : await_expiry(session, diag);
}

static int run_expiry_probes(struct phase_run *run, struct diag *diag)
{
	struct probe *held =
		probes_find(run->set, "candidate.router.established_after_expiry", 0);
	struct probe *fresh =
		probes_find(run->set, "candidate.router.new_after_expiry", 0);
	bool is_grouped = is_router_in_engine(run->session);
	int error = 0;

	enlist_each(run, "worker.trusted.established_after_expiry");
	enlist_each(run, "worker.trusted.new_after_expiry");
	enlist(run, "daemon.public.after_expiry", 0);
	if (is_grouped) {
		run->list[run->count++] = held;
		run->list[run->count++] = fresh;
		error = look_for_router(run->session, held, diag);
		if (!error)
			error = look_for_router(run->session, fresh, diag);
	}
	if (!error)
		error = run_list(run, diag);
	if (error)
		return error;
	finish_list(run);
	if (is_grouped)
		return 0;
	error = run_router(run, held, diag);
	return error ? error : run_router(run, fresh, diag);
}

static int run_expiry(struct session *session, struct probe_set *set, struct diag *diag)
{
	struct phase_run run = {.set = set};
	int error = begin_phase(session, PHASE_EXPIRY, &run, diag);

	if (!error)
		error = probes_prepare(session, PHASE_EXPIRY, run.phase, set, diag);
	if (!error)
		error = set_up_expiry(&run, diag);
	if (!error)
		error = run_expiry_probes(&run, diag);
	return error ? error : end_phase(&run, RULESET_EXPIRED, diag);
}

/* --- failed start ----------------------------------------------------------------- */

static int stop_worker(struct session *session, struct diag *diag)
{
	int error;

	positions_forget_worker(session);
	error = units_begin_job(&session->units, "StopUnit", session->site.worker_unit,
				diag);
	return error ? error : await_stop(session, "inactive", diag);
}

static int await_failure(struct session *session, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	char result[UNITS_TEXT_SIZE];
	struct unit_view view;
	int error =
		units_await_job(&session->units, clock_boot_ms() + JOB_MS, result, diag);

	if (!error && strcmp(result, "failed") != 0)
		error = diag_refuse(diag, unit,
				    "its start on an expired profile ended as "
				    "'%s', not 'failed'",
				    result);
	if (!error)
		error = units_read(&session->units, unit, &view, diag);
	if (!error && strcmp(view.result, "exit-code") != 0)
		error = diag_refuse(
			diag, unit,
			"its start on an expired profile failed with '%s', not "
			"'exit-code'",
			view.result);
	return error;
}

/* The start either comes to net-once's gate, or succeeds, which it must not. */
static int await_failed_gate(struct session *session, struct oneshot *oneshot,
			     struct diag *diag)
{
	struct unit_view view;
	struct diag other = {0};
	int error = oneshot_await(oneshot, diag);

	if (error &&
	    units_read(&session->units, session->site.worker_unit, &view, &other) == 0 &&
	    strcmp(view.active_state, "active") == 0) {
		*diag = (struct diag){0};
		return diag_refuse(diag, session->site.worker_unit,
				   "starts on an expired profile");
	}
	return error;
}

static int run_failed_start(struct session *session, struct probe_set *set,
			    struct diag *diag)
{
	struct phase_run run = {.set = set};
	OWN(oneshot_close) struct oneshot oneshot = ONESHOT_INIT;
	int error = begin_phase(session, PHASE_FAILED_START, &run, diag);

	if (!error)
		error = probes_prepare(session, PHASE_FAILED_START, run.phase, set, diag);
	if (!error)
		error = stop_worker(session, diag);
	if (!error)
		error = oneshot_prepare(set, &oneshot, diag);
	if (!error)
		error = units_begin_job(&session->units, "StartUnit",
					session->site.worker_unit, diag);
	if (!error)
		error = await_failed_gate(session, &oneshot, diag);
	if (!error)
		error = rules_compare_phase(session, RULESET_DENY, COMPARISON_BEGIN,
					    run.phase, diag);
	if (error)
		return error;
	enlist_each(&run, "worker.trusted.after_failed_start");
	error = oneshot_run(&oneshot, run.list, run.count, run.phase, diag);
	if (!error)
		error = await_failure(session, diag);
	if (error)
		return error;
	finish_list(&run);
	return end_phase(&run, RULESET_DENY, diag);
}

/* --- all -------------------------------------------------------------------------- */

int phases_run(struct session *session, struct diag *diag)
{
	static int (*const runs[])(struct session *, struct probe_set *,
				   struct diag *) = {run_active, run_stop_rollback,
						     run_expiry, run_failed_start};
	OWN(own_pointer) struct probe_set *set = calloc(1, sizeof(*set));
	int error = set ? 0 : diag_no_memory(diag);

	for (size_t i = 0; !error && i < ARRAY_SIZE(runs); i++)
		error = runs[i](session, set, diag);
	return error;
}
