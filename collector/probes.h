/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes: a catalog's rows made attempts, and the numbers of their bases. */
#ifndef COLLECTOR_PROBES_H
#define COLLECTOR_PROBES_H

#include "collector/session.h"

/*
 * Theory of operation
 *
 * probes_prepare() expands the catalog's rows of one phase into attempts: one for
 * each row, or for each trusted endpoint. The phase then runs them: most in one
 * group (probes_run_group()), in which every agent's requests are pipelined, with
 * the control agent doing the same just before and just after; some alone
 * (probes_run_alone()), between two readings of the deny counters. A probe
 * whose control did not get through, and which may rest on the counters, is taken
 * out of the group and run alone.
 *
 * Nothing here decides: numbers go into the probe's evidence, and
 * record_judge_probe() does the rest. A probe that was prepared and never run is a
 * failure of ours, found by probes_close().
 */

struct probe {
	const struct catalog_probe *entry;
	struct record_probe *record;
	struct agent *agent;
	struct agent_request request;
	bool has_control; /* the control agent does `control` around it */
	struct agent_request control;
	bool is_done;
};

struct probe_set {
	struct session *session;
	struct record_phase *phase;
	struct probe probes[RECORD_PROBES_MAX];
	size_t count;
};

/* Expands the phase's rows. About 60 KiB: the caller allocates. */
int probes_prepare(struct session *session, enum phase_name name,
		   struct record_phase *phase, struct probe_set *ret_set,
		   struct diag *diag);

/* How many attempts the catalog makes of this profile in all phases. */
size_t probes_count_all(const struct profile *profile);

/* The `index`-th probe with that id; the catalog has it, or it is our bug. */
struct probe *probes_find(struct probe_set *set, const char *id, size_t index);

/* Runs probes as described above. `list` is not changed. */
#define PROBES_GROUP_MAX RECORD_PROBES_MAX
int probes_run_group(struct probe_set *set, struct probe *const *list, size_t count,
		     struct diag *diag);
int probes_run_alone(struct probe_set *set, struct probe *probe, struct diag *diag);

/* The two halves of a group's controls, for probes that others make (net-once). */
int probes_run_controls(struct probe_set *set, struct probe *const *list, size_t count,
			bool is_after, struct diag *diag);

/* Takes an agent's answer as the probe's observation. */
void probes_take_answer(struct probe *probe, const struct agent_answer *answer);

/* Judges the probe, and tells of it. */
void probes_finish(struct probe_set *set, struct probe *probe);

/* Every probe of the phase has been run and judged. */
int probes_close(struct probe_set *set, struct diag *diag);

/* One attempt of an agent beside the probes, as an exchange. */
int probes_exchange(struct agent *agent, const struct agent_request *request,
		    struct exchange *ret_exchange, struct diag *diag);

/* A connect request. */
struct agent_request probes_connect(const char *address, int64_t port,
				    int64_t timeout_ms);

/* A listener of an agent of ours, which is shown to work before and after. */
struct listener_watch {
	struct agent *owner; /* listens, and reaches it itself */
	struct agent_request reach;
	char listener[AGENT_HANDLE_SIZE]; /* "": the port was taken */
	struct evidence_listener numbers;
};

int probes_watch_start(struct session *session, struct agent *owner,
		       const char *listen_address, int64_t port,
		       struct listener_watch *ret_watch, struct diag *diag);
/* Reaches it once more and counts what it accepted. */
int probes_watch_end(struct session *session, struct listener_watch *watch,
		     struct diag *diag);

#endif
