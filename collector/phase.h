/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the phases share: beginning and end, lists of probes, the worker, the router. */
#ifndef COLLECTOR_PHASE_H
#define COLLECTOR_PHASE_H

#include "collector/probes.h"
#include "collector/rules.h"
#include "collector/session.h"

enum { PHASE_JOB_MS = 60000 };

struct phase_run {
	struct session *session;
	struct record_phase *phase;
	struct probe_set *set;
	struct probe *list[PROBES_GROUP_MAX];
	size_t count;
};

/* Each runs one whole phase. */
int phase_run_active(struct session *session, struct probe_set *set, struct diag *diag);
int phase_run_stop_rollback(struct session *session, struct probe_set *set,
			    struct diag *diag);
int phase_run_expiry(struct session *session, struct probe_set *set, struct diag *diag);
int phase_run_failed_start(struct session *session, struct probe_set *set,
			   struct diag *diag);

/* Opens the record's next phase, told as progress. */
int phase_begin(struct session *session, enum phase_name name, struct phase_run *run,
		struct diag *diag);

/* Measures the agents again, compares the ruleset with `state`, and wants every probe
 * of the phase evaluated. */
int phase_end(struct phase_run *run, enum ruleset_state state, struct diag *diag);

/* What a phase that needs the window open came to: `error`, told with the reason if the
 * window has ended by now, which is a refusal in any case. */
int phase_check_window(const struct session *session, int error, struct diag *diag);

/* Puts a probe on the list of the next group; each: one for every trusted endpoint. */
struct probe *phase_enlist(struct phase_run *run, const char *id, size_t index);
void phase_enlist_each(struct phase_run *run, const char *id);

/* Makes the attempts of the list. */
int phase_run_list(struct phase_run *run, struct diag *diag);

/* Judges what is on the list, and empties it. */
void phase_finish_list(struct phase_run *run);

/* Starts the worker's unit and admits its agent. */
int phase_start_worker(struct session *session, struct diag *diag);

/* The router: where it is, its listener, one connection accepted there, the numbers of
 * one that is no more, and one probe of it while no worker listens. */
struct endpoint phase_router(const struct session *session);
bool phase_is_router_in_engine(const struct session *session);
int phase_open_router(struct session *session, struct diag *diag);
int phase_accept_at_router(struct session *session, struct agent_answer *ret_answer,
			   struct diag *diag);
int phase_look_for_router(struct session *session, struct probe *probe,
			  struct diag *diag);
int phase_run_router(struct phase_run *run, struct probe *probe, struct diag *diag);

#endif
