/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Admitting an agent: in its place, the reviewed program, confined, and saying the
 * truth. */
#ifndef COLLECTOR_ADMISSION_H
#define COLLECTOR_ADMISSION_H

#include "collector/session.h"

enum { ADMISSION_MS = 5000 }; /* until an agent that was started can be reached */

/* The n-th subordinate id (from 1) of the workload user, as the engine's id map
 * gives them out. */
bool admission_subordinate_id(const struct session *session, uint32_t n,
			      uint32_t *ret_id);

/* The ids that the agent of a position has on the host. */
int admission_expected_ids(const struct session *session, int position, uid_t *ret_uid,
			   gid_t *ret_gid, struct diag *diag);

/* Refuses what was measured unless it has the ids, the cgroup and the namespaces of
 * the position; for net-once, too. */
int admission_check_place(struct session *session, int position,
			  const struct measurement *measured, struct diag *diag);

/* Admits the agent `agent->process`, speaking over `input` and `output`, which
 * belong to the agent from here on. */
int admission_admit(struct session *session, struct agent *agent, int input, int output,
		    struct diag *diag);

/* The same over one socket, which it takes. */
int admission_admit_socket(struct session *session, struct agent *agent, int *fd,
			   struct diag *diag);

/* At a phase's end: refuses any change since the admission. */
int admission_measure_again(struct session *session, struct agent *agent,
			    struct diag *diag);

#endif
