// SPDX-License-Identifier: GPL-2.0-or-later
// Checks of the order of things: phases, the window, comparisons of the ruleset.
#include "verifier/judge.h"

#include <stdio.h>
#include <string.h>

#define RECORD(...) spot_at("record", __VA_ARGS__)

/* SPEC 7.1 and 9, in seconds. */
#define WINDOW_MIN 20
#define WINDOW_MAX 280
#define PROFILE_START_MAX 60    /* from the profile's issue to the start */
#define PREFLIGHT_START_MAX 900 /* from the preflight to the start */
#define WHOLE_MAX (6 * 3600)    /* between the two preflights */

/* The elements of the timed sets while a window is open: a uid, two cgroups, a
 * mark (SPEC 5.2). */
#define TIMED_ELEMENTS 4

void judge_phases(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;

	if (!findings_number(findings, FINDING_PHASE_ORDER, RECORD("/phases"),
			     PHASE_COUNT, (int64_t)record->phase_count))
		return;
	for (size_t i = 0; i < record->phase_count; i++) {
		const struct record_phase *phase = &record->phases[i];
		int64_t from = i ? phase[-1].completed_at_unix : record->started_at_unix;

		findings_text(findings, FINDING_PHASE_ORDER,
			      RECORD("/phases/%zu/phase", i), phase_names[i],
			      phase_names[phase->phase]);
		findings_range(findings, FINDING_PHASE_OVERLAP,
			       RECORD("/phases/%zu/started_at_unix", i), from, INT64_MAX,
			       phase->started_at_unix);
		findings_range(findings, FINDING_PHASE_OVERLAP,
			       RECORD("/phases/%zu/completed_at_unix", i),
			       phase->started_at_unix, INT64_MAX,
			       phase->completed_at_unix);
	}
}

static bool has_all_phases(const struct record *record)
{
	for (size_t i = 0; i < record->phase_count; i++)
		if (record->phases[i].phase != (int)i)
			return false;
	return record->phase_count == PHASE_COUNT;
}

void judge_window(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	int64_t issued = record->inputs.issued_at_unix;
	int64_t expires = record->inputs.expires_at_unix;

	findings_range(findings, FINDING_WINDOW, RECORD("/inputs/expires_at_unix"),
		       issued + WINDOW_MIN, issued + WINDOW_MAX, expires);
	findings_range(findings, FINDING_WINDOW, RECORD("/started_at_unix"), issued,
		       issued + PROFILE_START_MAX, record->started_at_unix);
	if (!has_all_phases(record))
		return; /* judge_phases() has said so */
	findings_range(
		findings, FINDING_EXPIRY_EARLY,
		RECORD("/phases/%zu/completed_at_unix", (size_t)PHASE_STOP_ROLLBACK), 0,
		expires, record->phases[PHASE_STOP_ROLLBACK].completed_at_unix);
	findings_range(findings, FINDING_EXPIRY_EARLY,
		       RECORD("/phases/%zu/started_at_unix", (size_t)PHASE_EXPIRY), 0,
		       expires, record->phases[PHASE_EXPIRY].started_at_unix);
	findings_range(findings, FINDING_EXPIRY_EARLY,
		       RECORD("/phases/%zu/completed_at_unix", (size_t)PHASE_EXPIRY),
		       expires + EXPIRY_GRACE, INT64_MAX,
		       record->phases[PHASE_EXPIRY].completed_at_unix);
}

void judge_times(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	int64_t before = case_->pre.checked_at_unix;
	int64_t after = case_->files->post.checked_at_unix;
	int64_t last = record->phase_count
			       ? record->phases[record->phase_count - 1].completed_at_unix
			       : record->started_at_unix;

	findings_range(findings, FINDING_TIME_ORDER, RECORD("/started_at_unix"), before,
		       INT64_MAX, record->started_at_unix);
	findings_range(findings, FINDING_PREFLIGHT_AGE, RECORD("/started_at_unix"), 0,
		       before + PREFLIGHT_START_MAX, record->started_at_unix);
	findings_range(findings, FINDING_TIME_ORDER,
		       RECORD("/preconditions/checked_at_unix"), before,
		       record->started_at_unix, record->preconditions.checked_at_unix);
	findings_range(findings, FINDING_TIME_ORDER, RECORD("/residue/measured_at_unix"),
		       last, record->completed_at_unix, record->residue.measured_at_unix);
	findings_range(findings, FINDING_TIME_ORDER, RECORD("/completed_at_unix"), last,
		       INT64_MAX, record->completed_at_unix);
	findings_range(findings, FINDING_TIME_ORDER, spot_at("post", "/checked_at_unix"),
		       record->completed_at_unix, INT64_MAX, after);
	findings_range(findings, FINDING_TOO_LONG, spot_at("post", "/checked_at_unix"), 0,
		       before + WHOLE_MAX, after);
}

/* --- comparisons ------------------------------------------------------------------- */

/* Whether the ruleset may be in `state` at that place of `phase`. */
static bool is_right_state(enum phase_name phase, bool is_first, bool is_last, int state,
			   int previous)
{
	switch (phase) {
	case PHASE_ACTIVE:
		return state == RULESET_SCOPED;
	case PHASE_STOP_ROLLBACK:
	case PHASE_FAILED_START:
		return state == RULESET_DENY;
	case PHASE_EXPIRY:
		/* Open at first, and once expired it stays so. */
		if (is_first)
			return state == RULESET_SCOPED;
		if (is_last)
			return state == RULESET_EXPIRED;
		return state == RULESET_EXPIRED ||
		       (state == RULESET_SCOPED && previous == RULESET_SCOPED);
	case PHASE_COUNT:
		break;
	}
	return false;
}

static void check_digests(const struct verify_case *case_,
			  const struct record_comparison *found, const char *expired,
			  size_t i, size_t k, struct findings *findings)
{
	const struct record_binding *binding = &case_->record.network_binding;
	const char *kernel = found->state == RULESET_DENY ? binding->deny_kernel_sha256
							  : binding->scoped_kernel_sha256;
	const char *ruleset = found->state == RULESET_DENY ? binding->deny_ruleset_sha256
			      : found->state == RULESET_SCOPED
				      ? binding->scoped_ruleset_sha256
				      : expired;

	findings_text(findings, FINDING_COMPARISON_DIGEST,
		      RECORD("/phases/%zu/comparisons/%zu/kernel_sha256", i, k), kernel,
		      found->kernel_sha256);
	findings_text(findings, FINDING_COMPARISON_DIGEST,
		      RECORD("/phases/%zu/comparisons/%zu/ruleset_sha256", i, k), ruleset,
		      found->ruleset_sha256);
	findings_text(findings, FINDING_COMPARISON_DIGEST,
		      RECORD("/phases/%zu/comparisons/%zu/foreign_sha256", i, k),
		      binding->foreign_sha256, found->foreign_sha256);
	findings_number(findings, FINDING_TIMED_ELEMENTS,
			RECORD("/phases/%zu/comparisons/%zu/timed_elements", i, k),
			found->state == RULESET_SCOPED ? TIMED_ELEMENTS : 0,
			found->timed_elements);
}

static int expected_cause(size_t k, size_t count)
{
	if (k == 0)
		return COMPARISON_BEGIN;
	return k + 1 == count ? COMPARISON_END : COMPARISON_MOVED;
}

/* The kernel's generation rises with each change. What "moved" says has changed since
 * the comparison before it; the end of a phase comes right after; and between phases
 * the collector itself changed the table. */
static int64_t lowest_generation(const struct record *record, size_t i, size_t k)
{
	const struct record_phase *phase = &record->phases[i];
	const struct record_comparison *found = &phase->comparisons[k];

	if (k)
		return found[-1].generation + (found->cause == COMPARISON_MOVED);
	if (i && phase[-1].comparison_count)
		return phase[-1].comparisons[phase[-1].comparison_count - 1].generation +
		       1;
	return 0;
}

/* The window is open until it ends, and not a moment longer. */
static void check_moment(const struct record *record,
			 const struct record_comparison *found, size_t i, size_t k,
			 struct findings *findings)
{
	int64_t expires = record->inputs.expires_at_unix;
	struct spot spot = RECORD("/phases/%zu/comparisons/%zu/at_unix", i, k);

	if (found->state == RULESET_SCOPED)
		findings_range(findings, FINDING_EXPIRY_EARLY, spot, 0, expires,
			       found->at_unix);
	if (found->state == RULESET_EXPIRED)
		findings_range(findings, FINDING_EXPIRY_EARLY, spot, expires, INT64_MAX,
			       found->at_unix);
}

static void check_comparisons(const struct verify_case *case_, size_t i,
			      const char *expired, struct findings *findings)
{
	const struct record_phase *phase = &case_->record.phases[i];
	int64_t from = phase->started_at_unix;
	int previous = -1;

	if (phase->comparison_count < 2) {
		findings_range(findings, FINDING_COMPARISON_MISSING,
			       RECORD("/phases/%zu/comparisons", i), 2, INT64_MAX,
			       (int64_t)phase->comparison_count);
		return;
	}
	for (size_t k = 0; k < phase->comparison_count; k++) {
		const struct record_comparison *found = &phase->comparisons[k];
		bool is_last = k + 1 == phase->comparison_count;

		findings_text(findings, FINDING_COMPARISON_MISSING,
			      RECORD("/phases/%zu/comparisons/%zu/cause", i, k),
			      comparison_cause_names[expected_cause(
				      k, phase->comparison_count)],
			      comparison_cause_names[found->cause]);
		findings_range(findings, FINDING_COMPARISON_TIME,
			       RECORD("/phases/%zu/comparisons/%zu/at_unix", i, k), from,
			       phase->completed_at_unix, found->at_unix);
		findings_range(findings, FINDING_COMPARISON_TIME,
			       RECORD("/phases/%zu/comparisons/%zu/generation", i, k),
			       lowest_generation(&case_->record, i, k), INT64_MAX,
			       found->generation);
		check_moment(&case_->record, found, i, k, findings);
		findings_true(findings, FINDING_COMPARISON_STATE,
			      RECORD("/phases/%zu/comparisons/%zu/state", i, k),
			      is_right_state((enum phase_name)phase->phase, k == 0,
					     is_last, found->state, previous),
			      "the state of its phase",
			      ruleset_state_names[found->state]);
		check_digests(case_, found, expired, i, k, findings);
		from = found->at_unix;
		previous = found->state;
	}
}

/* The listing's digest once the elements are gone: whatever the first says, the
 * others must say too, and it is neither the open policy's nor the guard's. */
static const char *expired_digest(const struct record *record)
{
	for (size_t i = 0; i < record->phase_count; i++)
		for (size_t k = 0; k < record->phases[i].comparison_count; k++)
			if (record->phases[i].comparisons[k].state == RULESET_EXPIRED)
				return record->phases[i].comparisons[k].ruleset_sha256;
	return "";
}

void judge_comparisons(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	const struct record_binding *binding = &record->network_binding;
	const char *expired = expired_digest(record);

	findings_true(findings, FINDING_COMPARISON_DIGEST, RECORD("/phases"),
		      strcmp(expired, binding->scoped_ruleset_sha256) != 0 &&
			      strcmp(expired, binding->deny_ruleset_sha256) != 0,
		      "another listing once the elements have expired", "the same");
	for (size_t i = 0; i < record->phase_count; i++)
		check_comparisons(case_, i, expired, findings);
}
