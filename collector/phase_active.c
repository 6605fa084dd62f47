// SPDX-License-Identifier: GPL-2.0-or-later
// The active phase: the window is open, and every position tries its way out.
#include <errno.h>
#include <string.h>

#include "collector/admission.h"
#include "collector/netview.h"
#include "collector/phase.h"
#include "collector/positions.h"
#include "policy/ruleset.h"

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
	strcpy(binding->worker_unit_sha256, session->worker_unit_sha256);
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
		error = phase_start_worker(session, diag);
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
		error = phase_open_router(session, diag);
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
	struct probe *router = phase_enlist(run, "candidate.router.connect", 0);
	struct probe *proxy = phase_enlist(run, "candidate.proxy.connect", 0);
	struct probe *forward = phase_enlist(run, "candidate.proxy.forward", 0);
	struct probe *source = probes_find(run->set, "candidate.router.source", 0);
	struct agent_answer accepted;
	int error;

	forward->record->evidence.has_refusal = true;
	strcpy(forward->record->evidence.refusal.service_sha256, session->proxy_sha256);
	error = phase_run_list(run, diag);
	if (error)
		return error;
	session->router_reached += router->record->observed == OBSERVED_CONNECTED;
	*ret_alive = (struct exchange){proxy->record->observed,
				       proxy->record->evidence.elapsed_us,
				       proxy->record->evidence.at_unix};
	error = phase_accept_at_router(session, &accepted, diag);
	if (error)
		return error;
	probes_take_answer(source, &accepted);
	error = classify_source(session, &accepted, &source->record->observed, diag);
	run->list[run->count++] = source;
	if (!error)
		phase_finish_list(run);
	return error;
}

/* A listener of ours on the engine's API port in the engine's namespace is reached,
 * taken away, and seen to be gone: the refusal that follows is then that of a
 * place where nothing listens. */
static int show_api_gone(struct session *session, struct probe *probe, struct diag *diag)
{
	struct evidence_listener_gone *gone = &probe->record->evidence.listener_gone;
	struct endpoint api = phase_router(session);
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
	if (phase_is_router_in_engine(session))
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
	if (!error && !phase_is_router_in_engine(session))
		error = end_watch(run, &watches->api, "candidate.docker_api",
				  alive_before, &after, diag);
	return error;
}

/* Ids and interfaces, read from outside. */
static int run_read(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	const struct agent *candidate = &session->agents[POSITION_CANDIDATE];
	struct probe *identity = phase_enlist(run, "candidate.identity", 0);
	struct probe *host_ids = phase_enlist(run, "candidate.host_ids", 0);
	struct probe *interfaces = phase_enlist(run, "executor.interfaces", 0);
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
	if (!admission_subordinate_id(session, (uint32_t)session->site.candidate_uid,
				      &expected))
		return diag_refuse(diag, "subordinate ids",
				   "there are too few; give the workload user 65536 with "
				   "usermod(8)");
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
	phase_finish_list(run);
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
		phase_enlist(run, single[i], 0);
	phase_enlist_each(run, "candidate.trusted");
	phase_enlist_each(run, "worker.trusted.handshake");
	phase_enlist_each(run, "daemon.trusted");
	error = phase_run_list(run, diag);
	if (!error)
		error = end_watches(run, &watches, &alive, diag);
	if (!error)
		phase_finish_list(run);
	return error ? error : run_read(run, diag);
}

int phase_run_active(struct session *session, struct probe_set *set, struct diag *diag)
{
	struct phase_run run = {.set = set};
	int error = phase_begin(session, PHASE_ACTIVE, &run, diag);

	if (!error)
		error = set_up_active(&run, diag);
	if (!error)
		error = probes_prepare(session, PHASE_ACTIVE, run.phase, set, diag);
	if (!error)
		error = run_active_probes(&run, diag);
	if (!error)
		error = phase_end(&run, RULESET_SCOPED, diag);
	return phase_check_window(session, error, diag);
}
