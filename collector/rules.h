/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ruleset, compared with what it must be at each turn of a collection. */
#ifndef COLLECTOR_RULES_H
#define COLLECTOR_RULES_H

#include "collector/session.h"

/* Compares the table with what `state` says, in both forms, judges the foreign
 * rules if `is_judging`, and fills `*ret_comparison`. A difference is a refusal that
 * begins the report; the session's generation becomes the one compared. */
int rules_compare(struct session *session, enum ruleset_state state,
		  enum comparison_cause cause, bool is_judging,
		  struct record_comparison *ret_comparison, struct diag *diag);

/* The same, appended to the phase. */
int rules_compare_phase(struct session *session, enum ruleset_state state,
			enum comparison_cause cause, struct record_phase *phase,
			struct diag *diag);

/* At a phase's end: if the generation has moved since the last comparison, that is
 * compared and recorded first; then the last comparison. */
int rules_finish_phase(struct session *session, enum ruleset_state state,
		       struct record_phase *phase, struct diag *diag);

/* Refuses foreign rules that are not those of the first comparison: what was judged
 * then is what must hold to the end. */
int rules_check_same_foreign(const struct session *session,
			     const char sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* The digest of the foreign rules; with `is_judging`, none may defeat ours. */
int rules_read_foreign(struct session *session, bool is_judging,
		       char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* The semantic digest of our table (SPEC 5.4). */
int rules_read_semantic(const struct site *site, char ret_sha256[DIGEST_TEXT_SIZE],
			struct diag *diag);

#endif
