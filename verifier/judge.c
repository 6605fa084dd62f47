// SPDX-License-Identifier: GPL-2.0-or-later
// The judgement: every check, once, and the one place that says "verified".
#include "verifier/judge.h"

#include <errno.h>

#include "common/own.h"

static judge_check *const checks[] = {
	judge_kind,
	judge_coverage,
	judge_catalog,
	judge_site,
	judge_host,
	judge_release,
	judge_profile,
	judge_endpoints,
	judge_binding,
	judge_guard,
	judge_foreign,
	judge_units,
	judge_daemon,
	judge_preconditions,
	judge_phases,
	judge_window,
	judge_times,
	judge_comparisons,
	judge_agents,
	judge_agent_ids,
	judge_probe_list,
	judge_probe_evidence,
	judge_probe_conclusions,
	judge_probe_results,
	judge_residue,
	judge_post,
};

const char *const judgement_names[] = {
	[JUDGEMENT_VERIFIED] = "verified",
	[JUDGEMENT_REFUSED] = "refused",
	[JUDGEMENT_UNMATCHED] = "unmatched",
	[JUDGEMENT_INCONCLUSIVE] = "inconclusive",
};

/* The gravest reason: a false record says nothing about the host, and a definite
 * leak outranks everything undecided. */
static enum judgement judge_findings(const struct verdict *verdict)
{
	enum judgement judgement = JUDGEMENT_INCONCLUSIVE;

	for (size_t i = 0; i < verdict->findings.count; i++) {
		switch (finding_kinds[verdict->findings.items[i].code].class) {
		case FINDING_REFUSED:
			return JUDGEMENT_REFUSED;
		case FINDING_UNMATCHED:
			judgement = JUDGEMENT_UNMATCHED;
			break;
		case FINDING_INCONCLUSIVE:
			break;
		}
	}
	if (verdict->findings.count)
		return judgement;
	if (verdict->checks_passed == verdict->checks_built_in)
		return JUDGEMENT_VERIFIED;
	return JUDGEMENT_REFUSED;
}

/* The first check says whether it is a record that the others know: if not, they have
 * nothing to say of it, and it cannot pass without them. */
static void run_checks(const struct verify_case *case_, struct verdict *verdict)
{
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		size_t before = verdict->findings.count;

		if (i == 1 && before)
			return;
		checks[i](case_, &verdict->findings);
		if (verdict->findings.count == before && !verdict->findings.is_short)
			verdict->checks_passed++;
	}
}

/* Runs the checks unless something was refused before: they compare what was read,
 * and with a part missing the record is refused for that part. */
static int conclude(const struct verify_case *case_, struct verdict *verdict,
		    struct diag *diag)
{
	if (!verdict->findings.count)
		run_checks(case_, verdict);
	if (verdict->findings.is_short)
		return diag_no_memory(diag);
	verdict->judgement = judge_findings(verdict);
	return 0;
}

int judge_case(const struct verify_case *case_, struct verdict *ret_verdict,
	       struct diag *diag)
{
	OWN(verdict_release)
	struct verdict verdict = {.checks_built_in = ARRAY_SIZE(checks)};
	int error = conclude(case_, &verdict, diag);

	if (error)
		return error;
	*ret_verdict = verdict;
	verdict = (struct verdict){0};
	return 0;
}

int judge_record(const char *record_sha256, const struct store *store,
		 const struct case_files *files, struct verify_case *case_,
		 struct verdict *ret_verdict, struct diag *diag)
{
	OWN(verdict_release)
	struct verdict verdict = {.checks_built_in = ARRAY_SIZE(checks)};
	int error;

	if (files->findings.is_short)
		return diag_no_memory(diag);
	for (size_t i = 0; i < files->findings.count; i++) {
		const struct finding *finding = &files->findings.items[i];

		findings_add(&verdict.findings, finding->code, finding->document,
			     finding->pointer, finding->expected, finding->found);
	}
	error = case_read_record(record_sha256, store, files, case_, &verdict.findings,
				 diag);
	if (!error)
		error = conclude(case_, &verdict, diag);
	if (error)
		return error;
	*ret_verdict = verdict;
	verdict = (struct verdict){0};
	return 0;
}

void verdict_release(struct verdict *verdict)
{
	findings_release(&verdict->findings);
}
