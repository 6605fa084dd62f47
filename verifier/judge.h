/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judgement: every check, once, and the one place that says "verified". */
#ifndef VERIFIER_JUDGE_H
#define VERIFIER_JUDGE_H

#include "common/store.h"
#include "verifier/case.h"
#include "verifier/finding.h"

/*
 * Theory of operation
 *
 * judge_record() reads a record and runs every check of a table over it. A check is
 * passed when it ran and found nothing. "Verified" is said in one place, if the
 * checks that passed are as many as the table has, and nothing was found anywhere:
 * a check that was not run, or a finding that could not be kept, cannot pass.
 *
 * Checks look at what was read and at nothing else: no clock, no network, no
 * file. The same evidence gets the same judgement on every machine, at any time.
 */

enum judgement {
	JUDGEMENT_VERIFIED,     /* exit status 0 */
	JUDGEMENT_REFUSED,      /* 1: the record is false, or of something else */
	JUDGEMENT_UNMATCHED,    /* 3: true, and the host does not do what it must */
	JUDGEMENT_INCONCLUSIVE, /* 3: true, and it could not be shown */
};

extern const char *const judgement_names[];

struct verdict {
	enum judgement judgement;
	size_t checks_built_in, checks_passed;
	struct findings findings;
};

/* Judges the record of that name. What the store or the memory failed at is "could
 * not tell", and no verdict. The caller releases `*ret_verdict`; `case_` keeps
 * what was read, for a report. */
int judge_record(const char *record_sha256, const struct store *store,
		 const struct case_files *files, struct verify_case *case_,
		 struct verdict *ret_verdict, struct diag *diag);

/* Judges a case that has been read whole; what judge_record() does after reading. */
int judge_case(const struct verify_case *case_, struct verdict *ret_verdict,
	       struct diag *diag);

void verdict_release(struct verdict *verdict);

/* --- the checks, for judge.c ------------------------------------------------------- */

/* SPEC 7.3: the phase of the expiry waits as long after it. */
#define EXPIRY_GRACE 3

typedef void judge_check(const struct verify_case *case_, struct findings *findings);

judge_check judge_kind, judge_coverage, judge_catalog, judge_site, judge_host,
	judge_release, judge_profile, judge_endpoints, judge_binding, judge_guard,
	judge_foreign, judge_units, judge_daemon, judge_preconditions, judge_post,
	judge_residue;
judge_check judge_phases, judge_window, judge_times, judge_comparisons;
judge_check judge_agents, judge_agent_ids, judge_probe_list, judge_probe_evidence,
	judge_probe_conclusions, judge_probe_results;

#endif
