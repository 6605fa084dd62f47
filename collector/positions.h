/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agents: started where SPEC 7.3 wants them, measured, measured again. */
#ifndef COLLECTOR_POSITIONS_H
#define COLLECTOR_POSITIONS_H

#include "collector/session.h"

/*
 * Theory of operation
 *
 * Each agent is found by somebody we trust for it (the manager's main pid, the
 * engine's pid of a container's init, our own fork), held, measured, asked for its
 * hello over a socket whose peer is that process, and measured again; what it
 * said must agree with what was seen, translated by its namespaces' maps. From then
 * on the pidfd says whether it is still the same, and admission_measure_again()
 * that it is unchanged.
 */

/* Each starts (or finds) one agent and admits it. */
int positions_start_control(struct session *session, struct diag *diag);
int positions_find_worker(struct session *session, struct diag *diag);
int positions_start_daemon(struct session *session, struct diag *diag);
int positions_start_subordinate(struct session *session, struct diag *diag);

/* Candidate, sibling and executor with their networks. */
int positions_start_containers(struct session *session, struct diag *diag);

/* Refuses a container that is not as it was admitted, or has further processes. */
int positions_check_container(struct session *session, const struct agent *agent,
			      struct diag *diag);

/* Ends the session with the worker's agent, which is about to be stopped. */
void positions_forget_worker(struct session *session);

/* Adds an agent to the phase's list, which is in the positions' order. */
int positions_add(struct record_phase *phase, const struct record_agent *entry,
		  struct diag *diag);

/* Measures every agent that is there again, refuses any change, and adds them
 * all to the phase. */
int positions_finish_phase(struct session *session, struct record_phase *phase,
			   struct diag *diag);

#endif
