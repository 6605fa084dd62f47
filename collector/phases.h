/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The four phases (SPEC 7.3). */
#ifndef COLLECTOR_PHASES_H
#define COLLECTOR_PHASES_H

#include "collector/session.h"

/*
 * Theory of operation
 *
 * Each phase: bring the host into its state; compare the ruleset; run its probes;
 * measure the agents again; compare the ruleset again. A phase that cannot be
 * completed is a refusal or "could not tell", and the collection ends there; what a
 * probe showed never ends it.
 */

int phases_run(struct session *session, struct diag *diag);

#endif
