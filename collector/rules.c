// SPDX-License-Identifier: GPL-2.0-or-later
// The ruleset, compared with what it must be at each turn of a collection.
#include "collector/rules.h"

#include <errno.h>
#include <string.h>

#include <linux/netfilter.h>

#include "collector/counter.h"
#include "policy/kernel/compare.h"
#include "policy/kernel/foreign.h"
#include "policy/kernel/kform.h"
#include "policy/kernel/listing.h"
#include "policy/normalize.h"
#include "policy/semantic.h"

enum { COMPARE_TRIES = 8 };

int rules_read_foreign(struct session *session, bool is_judging,
		       char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(foreign_release) struct foreign foreign = {0};
	char worker[SITE_CGROUP_SIZE], daemon[SITE_CGROUP_SIZE];
	const char *cgroups[2 + POSITION_COUNT + 1] = {worker, daemon};
	size_t count = 2;
	int error;

	site_worker_cgroup(&session->site, worker);
	site_daemon_cgroup(session->uid, daemon);
	/* Below those two, too. What denies only the control cannot pass for the policy.
	 */
	for (int i = 0; i < POSITION_COUNT; i++)
		if (session->agents[i].is_there && i != POSITION_CONTROL)
			cgroups[count++] = session->agents[i].measured.cgroup;
	error = foreign_read(session->site.table, "/sys/fs/cgroup", cgroups, &foreign,
			     diag);
	if (!error && is_judging)
		error = foreign_judge(&foreign, session->site.foreign_accepted,
				      session->site.foreign_accepted_count, diag);
	if (!error)
		error = foreign_digest(&foreign, ret_sha256, diag);
	return error;
}

int rules_read_semantic(const struct site *site, char ret_sha256[DIGEST_TEXT_SIZE],
			struct diag *diag)
{
	OWN(own_bytes) struct bytes listing = {0};
	OWN(own_json) json_t *entries = NULL;
	int error = listing_read(site->table, LISTING_JSON, &listing, diag);

	if (!error)
		error = normalize_listing(listing.data, listing.size, "nft listing",
					  site->table, &entries, diag);
	if (!error)
		error = semantic_digest(entries, ret_sha256, diag);
	return error;
}

/* How many elements the timed sets hold, in the ruleset that was compared. */
static int count_timed(const struct session *session, uint32_t generation,
		       int64_t *ret_count, struct diag *diag)
{
	OWN(nfnl_close) struct nfnl nfnl = {0};
	OWN(kform_release) struct kform form = {0};
	int error = nfnl_open(&nfnl, diag);

	if (!error)
		error = kform_read(&nfnl, NFPROTO_INET, session->site.table, 0, &form,
				   diag);
	if (error)
		return error;
	if (form.generation != generation)
		return diag_fail(diag, EAGAIN, "nf_tables",
				 "the ruleset moved while it was compared; stop what "
				 "changes it, and try again");
	*ret_count = (int64_t)form.timed_count;
	return 0;
}

/* The first line of a report is what fits into one line on standard error. */
static int refuse_difference(const struct session *session,
			     const struct comparison *comparison, struct diag *diag)
{
	char first[384] = "";
	size_t used = 0;

	for (const char *at = comparison->report.data;
	     at && *at && used < sizeof(first) - 1; at++) {
		if (*at == '\n' && at[1] != '\t')
			break;
		first[used++] = *at == '\n' || *at == '\t' ? ' ' : *at;
	}
	first[used] = '\0';
	return diag_refuse(diag, session->site.table,
			   "the kernel's ruleset differs from what it must be (%zu): %s; "
			   "see 'net-policy diff'",
			   comparison->difference_count, first);
}

static int compare(struct session *session, enum ruleset_state state,
		   struct comparison *ret_comparison, struct diag *diag)
{
	if (state == RULESET_DENY)
		return compare_guard(session->site.table, &session->subjects,
				     ret_comparison, diag);
	return compare_policy(&session->site, &session->profile, session->uid,
			      &session->subjects, ret_comparison, diag);
}

/* Somebody else's changes move the generation, too: then all of it is read again. */
static int compare_still(struct session *session, enum ruleset_state state,
			 struct comparison *comparison, int64_t *ret_timed,
			 struct diag *diag)
{
	for (int tries = COMPARE_TRIES;; tries--) {
		int error = compare(session, state, comparison, diag);

		if (!error && comparison->is_equal)
			error = count_timed(session, comparison->generation, ret_timed,
					    diag);
		if (error != -EAGAIN || tries == 1)
			return error;
		comparison_release(comparison);
		*diag = (struct diag){0};
	}
}

int rules_compare(struct session *session, enum ruleset_state state,
		  enum comparison_cause cause, bool is_judging,
		  struct record_comparison *ret_comparison, struct diag *diag)
{
	OWN(comparison_release) struct comparison comparison = {0};
	struct record_comparison record = {.cause = (int)cause, .state = (int)state};
	int64_t timed = 0;
	int error = compare_still(session, state, &comparison, &timed, diag);

	if (error)
		return error;
	if (!comparison.is_equal)
		return refuse_difference(session, &comparison, diag);
	record.at_unix = session_now();
	record.generation = comparison.generation;
	strcpy(record.ruleset_sha256, comparison.ruleset_sha256);
	strcpy(record.kernel_sha256, comparison.kernel_sha256);
	record.timed_elements = timed;
	if (state == RULESET_EXPIRED && record.timed_elements)
		return diag_refuse(diag, session->site.table,
				   "%lld timed elements outlived the window; see "
				   "'net-policy show', and do not run anything untrusted",
				   (long long)record.timed_elements);
	error = rules_read_foreign(session, is_judging, record.foreign_sha256, diag);
	if (error)
		return error;
	session->generation = record.generation;
	*ret_comparison = record;
	return 0;
}

int rules_check_same_foreign(const struct session *session,
			     const char sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	const struct record_binding *binding = &session->record.network_binding;

	if (!session->record.has_network_binding ||
	    strcmp(sha256, binding->foreign_sha256) == 0)
		return 0;
	return diag_refuse(
		diag, "nf_tables",
		"the host's other rules changed during the collection; collect "
		"again once they keep still");
}

int rules_compare_phase(struct session *session, enum ruleset_state state,
			enum comparison_cause cause, struct record_phase *phase,
			struct diag *diag)
{
	int error;

	if (phase->comparison_count == RECORD_COMPARISONS_MAX)
		return diag_refuse(
			diag, session->site.table,
			"the ruleset does not keep still; stop what changes it");
	error = rules_compare(session, state, cause, true,
			      &phase->comparisons[phase->comparison_count], diag);
	if (!error)
		error = rules_check_same_foreign(
			session,
			phase->comparisons[phase->comparison_count].foreign_sha256, diag);
	if (!error)
		phase->comparison_count++;
	return error;
}

int rules_finish_phase(struct session *session, enum ruleset_state state,
		       struct record_phase *phase, struct diag *diag)
{
	int64_t generation;
	int error = counter_read_generation(&generation, diag);

	if (!error && generation != session->generation)
		error = rules_compare_phase(session, state, COMPARISON_MOVED, phase,
					    diag);
	if (!error)
		error = rules_compare_phase(session, state, COMPARISON_END, phase, diag);
	return error;
}
