/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking everything back (SPEC 7.5), after a collection or from its journal. */
#ifndef COLLECTOR_ENDING_H
#define COLLECTOR_ENDING_H

#include "collector/session.h"

/* Undoes what the session's journal lists, backwards, each step whatever the others
 * did, and loads the guard if it is not there. The first failure is reported; the
 * journal stays then. Needs the session's site, accounts, engine and units. */
int ending_undo(struct session *session, struct diag *diag);

/* What is left of anything a collection makes. All well: counts 0, worker inactive,
 * the guard, the same engine and boot. */
int ending_measure(struct session *session, struct record_residue *ret_residue,
		   struct diag *diag);
bool ending_is_clean(const struct session *session, const struct record_residue *residue);

/* What is left, in words: "could not tell" that all was taken back. */
int ending_explain(const struct record_residue *residue, struct diag *diag);

#endif
