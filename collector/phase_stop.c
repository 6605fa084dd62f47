// SPDX-License-Identifier: GPL-2.0-or-later
// The phases that end with net-once: the worker's stop, and its failed start.
#include <errno.h>
#include <string.h>

#include "collector/oneshot.h"
#include "collector/phase.h"
#include "collector/positions.h"
#include "common/clock.h"

static int await_stop(struct session *session, const char *wanted, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	char result[UNITS_TEXT_SIZE];
	struct unit_view view;
	int error = units_await_job(&session->units, clock_boot_ms() + PHASE_JOB_MS,
				    result, diag);

	if (!error && strcmp(result, "done") != 0)
		error = diag_refuse(diag, unit,
				    "its stop ended as '%s'; see 'journalctl -u %s'",
				    result, unit);
	if (!error)
		error = units_read(&session->units, unit, &view, diag);
	if (!error && strcmp(view.active_state, wanted) != 0)
		error = diag_refuse(diag, unit,
				    "is %s after its stop (%s); see 'journalctl -u %s'",
				    view.active_state, view.result, unit);
	return error;
}

int phase_run_stop_rollback(struct session *session, struct probe_set *set,
			    struct diag *diag)
{
	struct phase_run run = {.set = set};
	OWN(oneshot_close) struct oneshot oneshot = ONESHOT_INIT;
	int error = phase_begin(session, PHASE_STOP_ROLLBACK, &run, diag);

	if (!error)
		error = probes_prepare(session, PHASE_STOP_ROLLBACK, run.phase, set,
				       diag);
	if (!error)
		error = oneshot_prepare(set, &oneshot, diag);
	if (error)
		return error;
	session_step(session, "stopping the worker");
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
	phase_enlist_each(&run, "worker.trusted.after_stop");
	error = oneshot_run(&oneshot, run.list, run.count, run.phase, diag);
	if (!error)
		error = await_stop(session, "inactive", diag);
	if (error)
		return error;
	phase_finish_list(&run);
	phase_enlist(&run, "daemon.public.after_stop", 0);
	error = phase_run_list(&run, diag);
	if (error)
		return error;
	phase_finish_list(&run);
	error = phase_run_router(&run, probes_find(set, "candidate.router.after_stop", 0),
				 diag);
	return error ? error : phase_end(&run, RULESET_DENY, diag);
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
	int error = units_await_job(&session->units, clock_boot_ms() + PHASE_JOB_MS,
				    result, diag);

	if (!error && strcmp(result, "failed") != 0)
		error = diag_refuse(diag, unit,
				    "its start on an expired profile ended as "
				    "'%s', not 'failed'; see 'journalctl -u %s'",
				    result, unit);
	if (!error)
		error = units_read(&session->units, unit, &view, diag);
	if (!error && strcmp(view.result, "exit-code") != 0)
		error = diag_refuse(
			diag, unit,
			"its start on an expired profile failed with '%s', not "
			"'exit-code'; see 'journalctl -u %s'",
			view.result, unit);
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
				   "starts on an expired profile; see 'journalctl -u "
				   "%s', and do not "
				   "run anything untrusted",
				   session->site.worker_unit);
	}
	return error;
}

int phase_run_failed_start(struct session *session, struct probe_set *set,
			   struct diag *diag)
{
	struct phase_run run = {.set = set};
	OWN(oneshot_close) struct oneshot oneshot = ONESHOT_INIT;
	int error = phase_begin(session, PHASE_FAILED_START, &run, diag);

	if (!error)
		error = probes_prepare(session, PHASE_FAILED_START, run.phase, set, diag);
	if (!error)
		error = stop_worker(session, diag);
	if (!error)
		error = oneshot_prepare(set, &oneshot, diag);
	if (!error) {
		session_step(session, "starting the worker on the expired profile");
		error = units_begin_job(&session->units, "StartUnit",
					session->site.worker_unit, diag);
	}
	if (!error)
		error = await_failed_gate(session, &oneshot, diag);
	if (!error)
		error = rules_compare_phase(session, RULESET_DENY, COMPARISON_BEGIN,
					    run.phase, diag);
	if (error)
		return error;
	phase_enlist_each(&run, "worker.trusted.after_failed_start");
	error = oneshot_run(&oneshot, run.list, run.count, run.phase, diag);
	if (!error)
		error = await_failure(session, diag);
	if (error)
		return error;
	phase_finish_list(&run);
	return phase_end(&run, RULESET_DENY, diag);
}
