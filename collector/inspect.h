/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at the host's accounts, programs, units, engine and rules. */
#ifndef COLLECTOR_INSPECT_H
#define COLLECTOR_INSPECT_H

#include "collector/session.h"

/* Each is read-only, refuses what SPEC 7.1 refuses, and leaves what it found in the
 * session and in its part of a preflight. */

/* The workload user, its group, its subordinate ranges, the worker's group. */
int inspect_accounts(struct session *session, struct diag *diag);

/* Every installed program is the release's; opens the probe runner. */
int inspect_programs(struct session *session, struct release_programs *ret_programs,
		     struct diag *diag);

/* Worker in its mode, guard active, proxy active and itself, engine active. */
int inspect_units(struct session *session, struct preflight_units *ret_units,
		  struct diag *diag);

/* Identity, image, no containers, no job networks; holds the engine's process. */
int inspect_engine(struct session *session, struct preflight *found, struct diag *diag);

/* The guard in the kernel and no foreign rule that could defeat it. Compares the
 * guard only while the worker is inactive. */
int inspect_rules(struct session *session, struct preflight *found, struct diag *diag);

#endif
