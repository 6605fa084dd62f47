// SPDX-License-Identifier: GPL-2.0-or-later
// The expiry: flows that the window allowed, and what the kernel makes of them after it.
#include <errno.h>
#include <string.h>

#include "collector/oneshot.h"
#include "collector/phase.h"
#include "common/clock.h"

enum {
	GRACE_MS = 3000, /* SPEC 7.3: after the expiry */
	/* A control's own flow is asked for as long as a silent peer takes to be found
	 * out (keepalive each second, tried twice): with less, a dead network's is
	 * "still alive", and a flow that only the network ended looks cut. */
	HELD_MS = 3000,
};

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
	struct endpoint router = phase_router(session);
	struct agent_request request = establish_to(session, &router);
	struct agent_answer candidate, worker;
	int error = agentlink_ask(&session->agents[POSITION_CANDIDATE].link, &request,
				  &candidate, diag);

	if (!error)
		error = phase_accept_at_router(session, &worker, diag);
	if (error)
		return error;
	session->router_reached += candidate.outcome == OUTCOME_CONNECTED;
	if (phase_is_router_in_engine(session)) {
		probe->request = check_of(session, candidate.connection);
	} else {
		probe->agent = &session->agents[POSITION_WORKER];
		probe->request = check_of(session, worker.connection);
	}
	return 0;
}

static int await_expiry(struct session *session, struct diag *diag)
{
	int64_t until_ms = session->profile.expires_at_unix * 1000 + GRACE_MS;

	for (;;) {
		int64_t left = until_ms - clock_wall_ms();
		/* Looked at every second: one that was set back would be waited for. */
		int error = session_check_clock(session, diag);

		if (error || left <= 0)
			return error;
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
				   "is not what the same profile made of it before; find "
				   "what changed the host meanwhile");
	return 0;
}

static int set_up_expiry(struct phase_run *run, struct diag *diag)
{
	struct session *session = run->session;
	/* Without a plan, the unit's net-once does nothing. */
	int error = oneshot_remove_files(session, diag);

	if (!error)
		error = phase_start_worker(session, diag);
	if (!error)
		error = rules_compare_phase(session, RULESET_SCOPED, COMPARISON_BEGIN,
					    run->phase, diag);
	if (!error)
		error = check_same_policy(session, run->phase, diag);
	if (!error)
		error = phase_open_router(session, diag);
	if (!error)
		error = hold_trusted(run, diag);
	if (!error)
		error = hold_router(run, diag);
	error = phase_check_window(session, error, diag);
	return error ? error : await_expiry(session, diag);
}

static int run_expiry_probes(struct phase_run *run, struct diag *diag)
{
	struct probe *held =
		probes_find(run->set, "candidate.router.established_after_expiry", 0);
	struct probe *fresh =
		probes_find(run->set, "candidate.router.new_after_expiry", 0);
	bool is_grouped = phase_is_router_in_engine(run->session);
	int error = 0;

	phase_enlist_each(run, "worker.trusted.established_after_expiry");
	phase_enlist_each(run, "worker.trusted.new_after_expiry");
	phase_enlist(run, "daemon.public.after_expiry", 0);
	if (is_grouped) {
		run->list[run->count++] = held;
		run->list[run->count++] = fresh;
		error = phase_look_for_router(run->session, held, diag);
		if (!error)
			error = phase_look_for_router(run->session, fresh, diag);
	}
	if (!error)
		error = phase_run_list(run, diag);
	if (error)
		return error;
	phase_finish_list(run);
	if (is_grouped)
		return 0;
	error = phase_run_router(run, held, diag);
	return error ? error : phase_run_router(run, fresh, diag);
}

int phase_run_expiry(struct session *session, struct probe_set *set, struct diag *diag)
{
	struct phase_run run = {.set = set};
	int error = phase_begin(session, PHASE_EXPIRY, &run, diag);

	if (!error)
		error = probes_prepare(session, PHASE_EXPIRY, run.phase, set, diag);
	if (!error)
		error = set_up_expiry(&run, diag);
	if (!error)
		error = run_expiry_probes(&run, diag);
	return error ? error : phase_end(&run, RULESET_EXPIRED, diag);
}
