/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at the host's accounts, programs, units, engine and rules. */
#ifndef COLLECTOR_INSPECT_H
#define COLLECTOR_INSPECT_H

#include "collector/session.h"

/* Each is read-only, refuses what SPEC 7.1 refuses, and leaves what it found in the
 * session and in its part of a preflight. */

/* The workload user, its group, the worker's group; opens the engine's driver. */
int inspect_account(struct session *session, struct diag *diag);

/* The workload user's uid and subordinate ranges. After inspect_account(). */
int inspect_ranges(struct session *session, struct diag *diag);

/* Every installed program is the release's; opens the probe runner. */
int inspect_programs(struct session *session, struct release_programs *ret_programs,
		     struct diag *diag);

/* The site's units are there, all four. */
int inspect_unit_files(struct session *session, struct diag *diag);

/* What systemd holds of the three system services is what their files say. */
int inspect_unit_loads(struct session *session, struct diag *diag);

/* The worker's unit is that of its mode, for this very probe runner. */
int inspect_worker(struct session *session, struct diag *diag);

/* Refuses if its unit is another than inspect_worker() found. */
int inspect_worker_again(struct session *session, struct diag *diag);

/* The worker does not run, and has not failed. */
int inspect_worker_idle(struct session *session, struct unit_state *ret_state,
			struct diag *diag);

/* The guard's unit is active, and what it loads is the guard. */
int inspect_guard(struct session *session, struct unit_state *ret_state,
		  struct diag *diag);

/* The host has the addresses on which the proxy and a host router listen. */
int inspect_addresses(struct session *session, struct diag *diag);

/* The proxy is active, itself, and the one that listens. */
int inspect_proxy(struct session *session, struct unit_state *ret_state,
		  struct diag *diag);

/* The workload user's own manager runs, and nothing makes its socket calls fail. */
int inspect_manager(struct session *session, struct diag *diag);

/* The engine's unit is active, and nothing in it makes its socket calls fail. */
int inspect_engine_unit(struct session *session, struct unit_state *ret_state,
			struct diag *diag);

/* The engine answers and is rootless; its identity. Holds its process. */
int inspect_engine(struct session *session, struct preflight *found, struct diag *diag);

/* It has no containers and no networks but its own. */
int inspect_engine_idle(struct session *session, struct diag *diag);

/* It has the release's image. */
int inspect_image(struct session *session, char ret_id[RELEASE_IMAGE_SIZE],
		  struct diag *diag);

/* The guard in the kernel and no foreign rule that could defeat it. Compares the
 * guard only while the worker is inactive. */
int inspect_rules(struct session *session, struct preflight *found, struct diag *diag);

/* The workload's processes hold nothing that no rule of ours would meet. */
int inspect_workload(struct session *session, int64_t *ret_sockets, struct diag *diag);

/* What held before anything started and could have been changed since without any agent
 * or table showing it: the worker's unit, the subordinate ranges, what the workload's
 * processes hold. */
int inspect_again(struct session *session, struct diag *diag);

/* Refuses a process that something outside of it makes fail: more system call filters
 * than `filters`, or an AppArmor profile that is enforced. */
int inspect_confinement(const char *place, const struct confinement *confinement,
			int filters, struct diag *diag);

#endif
