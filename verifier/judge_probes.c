// SPDX-License-Identifier: GPL-2.0-or-later
// Checks of the probes: all there, nothing added, and each concluded again.
#include "verifier/judge.h"

#include <stdio.h>
#include <string.h>

#include "policy/catalog.h"
#include "policy/endpoint_digest.h"

#define RECORD(...) spot_at("record", __VA_ARGS__)
#define PROBE(key) RECORD("/phases/%zu/probes/%zu/" key, i, k)

/* Seconds by which a time and what elapsed before it may seem to contradict each
 * other: both moments are cut to whole seconds, and one clock is slewed. */
#define CLOCK_SLACK 2

/* One probe that a record must have. */
struct wanted {
	const struct catalog_probe *entry;
	size_t endpoint; /* for those once per endpoint */
};

/* The probes of `phase`, in the catalog's order. Returns how many; at most
 * RECORD_PROBES_MAX are written. */
static size_t list_wanted(const struct profile *profile, enum phase_name phase,
			  struct wanted *ret_wanted)
{
	const struct catalog *catalog = catalog_builtin();
	size_t count = 0;

	for (size_t i = 0; i < catalog->probe_count; i++) {
		const struct catalog_probe *entry = &catalog->probes[i];
		size_t times = entry->per_endpoint ? profile->trusted_tcp_count : 1;

		for (size_t e = 0; (int)phase == entry->phase && e < times; e++) {
			if (count < RECORD_PROBES_MAX)
				ret_wanted[count] = (struct wanted){entry, e};
			count++;
		}
	}
	return count;
}

static size_t count_probes(const struct record_phase *phase, const char *id)
{
	size_t count = 0;

	for (size_t k = 0; k < phase->probe_count; k++)
		count += strcmp(phase->probes[k].id, id) == 0;
	return count;
}

static size_t count_wanted(const struct wanted *wanted, size_t count, const char *id)
{
	size_t found = 0;

	for (size_t k = 0; k < count; k++)
		found += strcmp(wanted[k].entry->id, id) == 0;
	return found;
}

/* The digest that a probe must carry; "" if none can be made. */
static void wanted_endpoint(const struct case_files *files, const struct wanted *wanted,
			    char ret_sha256[DIGEST_TEXT_SIZE])
{
	const struct profile *profile = &files->profile;
	const struct profile_endpoint *trusted = &profile->trusted_tcp[wanted->endpoint];
	const struct site_endpoint *own = &files->site.router;
	enum endpoint_role role = ENDPOINT_ROLE_ROUTER;
	struct diag diag = {0};

	ret_sha256[0] = '\0';
	if (wanted->entry->target == CATALOG_TARGET_TRUSTED_TCP) {
		(void)endpoint_digest(profile->label_key, trusted->address, trusted->port,
				      ENDPOINT_ROLE_TRUSTED_TCP, ret_sha256, &diag);
		return;
	}
	if (wanted->entry->target == CATALOG_TARGET_PROXY) {
		own = &files->site.proxy;
		role = ENDPOINT_ROLE_PROXY;
	}
	(void)endpoint_digest(profile->label_key, own->address, own->port, role,
			      ret_sha256, &diag);
}

static void check_probe(const struct verify_case *case_, const struct wanted *wanted,
			const struct record_probe *probe, size_t i, size_t k,
			struct findings *findings)
{
	bool is_dns_granted = case_->files->profile.trusted_dns_count > 0;
	bool has_endpoint = catalog_has_endpoint(wanted->entry);
	char digest[DIGEST_TEXT_SIZE];

	findings_text(
		findings, FINDING_PROBE_EXPECT, PROBE("expect"),
		expectation_names[catalog_expectation(wanted->entry, is_dns_granted)],
		expectation_names[probe->expect]);
	if (!findings_true(findings, FINDING_PROBE_ENDPOINT, PROBE("endpoint_sha256"),
			   probe->has_endpoint == has_endpoint,
			   has_endpoint ? "there" : "missing",
			   has_endpoint ? "missing" : "there") ||
	    !has_endpoint)
		return;
	wanted_endpoint(case_->files, wanted, digest);
	findings_text(findings, FINDING_PROBE_ENDPOINT, PROBE("endpoint_sha256"), digest,
		      probe->endpoint_sha256);
}

/* Says what is missing, repeated or added. Returns whether anything is. */
static bool differs_in_number(const struct record_phase *phase,
			      const struct wanted *wanted, size_t count, size_t i,
			      struct findings *findings)
{
	size_t before = findings->count;

	for (size_t k = 0; k < count; k++) {
		const char *id = wanted[k].entry->id;

		if (wanted[k].endpoint == 0 &&
		    count_probes(phase, id) < count_wanted(wanted, count, id))
			findings_true(findings, FINDING_PROBE_MISSING,
				      RECORD("/phases/%zu/probes", i), false, id,
				      "fewer");
	}
	for (size_t k = 0; k < phase->probe_count; k++) {
		const char *id = phase->probes[k].id;
		size_t allowed = count_wanted(wanted, count, id);

		if (count_probes(phase, id) > allowed)
			findings_true(findings,
				      allowed ? FINDING_PROBE_REPEATED
					      : FINDING_PROBE_ADDED,
				      PROBE("id"), false, allowed ? "fewer" : "none", id);
	}
	return findings->count != before;
}

static void check_list(const struct verify_case *case_, size_t i,
		       struct findings *findings)
{
	const struct record_phase *phase = &case_->record.phases[i];
	struct wanted wanted[RECORD_PROBES_MAX];
	size_t count = list_wanted(&case_->files->profile, (enum phase_name)phase->phase,
				   wanted);

	if (differs_in_number(phase, wanted, count, i, findings))
		return;
	for (size_t k = 0; k < count; k++) {
		const struct record_probe *probe = &phase->probes[k];

		if (findings_text(findings, FINDING_PROBE_ORDER, PROBE("id"),
				  wanted[k].entry->id, probe->id))
			check_probe(case_, &wanted[k], probe, i, k, findings);
	}
}

void judge_probe_list(const struct verify_case *case_, struct findings *findings)
{
	for (size_t i = 0; i < case_->record.phase_count; i++)
		check_list(case_, i, findings);
}

/* --- evidence ---------------------------------------------------------------------- */

/* Ids that evidence says were expected are those of the agent measured from
 * outside, or of the site. */
static void check_identity(const struct verify_case *case_,
			   const struct record_phase *phase, size_t i, size_t k,
			   struct findings *findings)
{
	const struct record_probe *probe = &phase->probes[k];
	const struct evidence_identity *identity = &probe->evidence.identity;
	const struct catalog_probe *entry = catalog_find(catalog_builtin(), probe->id);
	int64_t inside = case_->files->site.candidate_uid;

	if (!entry || (entry->op != CATALOG_OP_HELLO && entry->op != CATALOG_OP_INSPECT))
		return;
	if (entry->op == CATALOG_OP_HELLO) {
		findings_number(findings, FINDING_PROBE_EVIDENCE,
				PROBE("evidence/identity/expected_uid"), inside,
				identity->expected_uid);
		findings_number(findings, FINDING_PROBE_EVIDENCE,
				PROBE("evidence/identity/expected_gid"), inside,
				identity->expected_gid);
		return;
	}
	for (size_t a = 0; a < phase->agent_count; a++) {
		const struct record_agent *agent = &phase->agents[a];

		if (agent->position != entry->position)
			continue;
		findings_number(findings, FINDING_PROBE_EVIDENCE,
				PROBE("evidence/identity/uid"), agent->uid,
				identity->uid);
		findings_number(findings, FINDING_PROBE_EVIDENCE,
				PROBE("evidence/identity/gid"), agent->gid,
				identity->gid);
		/* judge_agent_ids() compares the agent's with the site's. */
		findings_number(findings, FINDING_PROBE_EVIDENCE,
				PROBE("evidence/identity/expected_uid"), agent->uid,
				identity->expected_uid);
	}
}

/* Which parts of the evidence a probe can have: those that its bases look at, and the
 * two that its expectation does. */
static void check_parts(const struct record_probe *probe, size_t i, size_t k,
			struct findings *findings)
{
	const struct catalog_probe *entry = catalog_find(catalog_builtin(), probe->id);
	unsigned int bases = entry ? catalog_bases(entry) : 0;
	const struct evidence *has = &probe->evidence;
	const struct {
		const char *key;
		bool is_there, is_allowed;
	} parts[] = {
		{"control", has->has_control, bases & (1U << BASIS_CONTROL)},
		{"deny_counter", has->has_deny_counter,
		 bases & (1U << BASIS_DENY_COUNTER)},
		{"listener", has->has_listener, bases & (1U << BASIS_LISTENER)},
		{"listener_gone", has->has_listener_gone,
		 bases & (1U << BASIS_LISTENER_GONE)},
		{"no_route", has->has_no_route, bases & (1U << BASIS_NO_ROUTE)},
		{"refusal", has->has_refusal, bases & (1U << BASIS_REFUSAL)},
		{"identity", has->has_identity,
		 entry && entry->expect == EXPECT_IDENTITY_EXACT},
		{"interfaces", has->has_interfaces,
		 entry && entry->expect == EXPECT_ONLY_LOOPBACK},
	};

	for (size_t p = 0; entry && p < ARRAY_SIZE(parts); p++)
		findings_true(
			findings, FINDING_PROBE_EVIDENCE,
			RECORD("/phases/%zu/probes/%zu/evidence/%s", i, k, parts[p].key),
			parts[p].is_allowed || !parts[p].is_there, "missing", "there");
}

/* When a phase's attempts were made. In the phase of the expiry, all of them once
 * the window had ended: what is denied before shows nothing. */
struct span {
	int64_t from, to;
	enum finding_code early;
};

static struct span span_of(const struct record *record, size_t i)
{
	const struct record_phase *phase = &record->phases[i];
	struct span span = {phase->started_at_unix, phase->completed_at_unix,
			    FINDING_PROBE_TIME};
	int64_t ended = record->inputs.expires_at_unix + EXPIRY_GRACE;

	if (phase->phase == PHASE_EXPIRY && ended > span.from) {
		span.from = ended;
		span.early = FINDING_EXPIRY_EARLY;
	}
	return span;
}

/* The microseconds that fit into so many seconds, as far as clocks can tell. */
static int64_t most_us(int64_t seconds)
{
	int64_t whole = INT64_MAX / 1000000 - CLOCK_SLACK;

	return ((seconds < whole ? seconds : whole) + CLOCK_SLACK) * 1000000;
}

/* An attempt: answered in its time, and begun in it. */
static void check_attempt(const struct span *span, int64_t at_unix, int64_t elapsed_us,
			  struct spot at, struct spot elapsed, struct findings *findings)
{
	if (findings_range(findings, span->early, at, span->from, INT64_MAX, at_unix) &&
	    findings_range(findings, FINDING_PROBE_TIME, at, 0, span->to, at_unix))
		findings_range(findings, span->early, elapsed, 0,
			       most_us(at_unix - span->from), elapsed_us);
}

#define ATTEMPT(at_, elapsed_, key)                                                      \
	check_attempt(&span, at_, elapsed_, PROBE("evidence/" key "at_unix"),            \
		      PROBE("evidence/" key "elapsed_us"), findings)

static void check_evidence(const struct verify_case *case_, size_t i, size_t k,
			   struct findings *findings)
{
	const struct record_phase *phase = &case_->record.phases[i];
	const struct record_probe *probe = &phase->probes[k];
	const struct evidence *evidence = &probe->evidence;
	const struct exchange *before, *after;
	struct span span = span_of(&case_->record, i);

	ATTEMPT(evidence->at_unix, evidence->elapsed_us, "");
	check_parts(probe, i, k, findings);
	if (evidence->has_refusal)
		findings_text(findings, FINDING_PROBE_EVIDENCE,
			      PROBE("evidence/refusal/service_sha256"),
			      case_->record.network_binding.refusing_proxy_sha256,
			      evidence->refusal.service_sha256);
	if (evidence->has_identity)
		check_identity(case_, phase, i, k, findings);
	if (evidence->has_control) {
		before = &evidence->control.before;
		after = &evidence->control.after;
		ATTEMPT(before->at_unix, before->elapsed_us, "control/before/");
		ATTEMPT(after->at_unix, after->elapsed_us, "control/after/");
	}
	if (evidence->has_listener) {
		before = &evidence->listener.alive_before;
		after = &evidence->listener.alive_after;
		ATTEMPT(before->at_unix, before->elapsed_us, "listener/alive_before/");
		ATTEMPT(after->at_unix, after->elapsed_us, "listener/alive_after/");
	}
}

static bool do_share_packets(const struct record_probe *one,
			     const struct record_probe *other)
{
	const struct evidence_deny_counter *first = &one->evidence.deny_counter;
	const struct evidence_deny_counter *second = &other->evidence.deny_counter;

	return one->basis == BASIS_DENY_COUNTER && other->basis == BASIS_DENY_COUNTER &&
	       first->packets_before < second->packets_after &&
	       second->packets_before < first->packets_after;
}

/* There is one deny counter, and it vouches for one probe at a time: what it rose by
 * for one it did not rise by for another. It starts again with a table that is loaded
 * anew, which a comparison beyond those of the phase's begin and end has seen. */
static void check_counters(const struct record_phase *phase, size_t i,
			   struct findings *findings)
{
	for (size_t k = 0; k < phase->probe_count && phase->comparison_count <= 2; k++)
		for (size_t other = 0; other < k; other++)
			findings_true(findings, FINDING_PROBE_EVIDENCE,
				      PROBE("evidence/deny_counter"),
				      !do_share_packets(&phase->probes[k],
							&phase->probes[other]),
				      "packets of its own", phase->probes[other].id);
}

void judge_probe_evidence(const struct verify_case *case_, struct findings *findings)
{
	for (size_t i = 0; i < case_->record.phase_count; i++) {
		const struct record_phase *phase = &case_->record.phases[i];

		for (size_t k = 0; k < phase->probe_count; k++)
			check_evidence(case_, i, k, findings);
		check_counters(phase, i, findings);
	}
}

/* --- conclusions ------------------------------------------------------------------- */

void judge_probe_conclusions(const struct verify_case *case_, struct findings *findings)
{
	for (size_t i = 0; i < case_->record.phase_count; i++) {
		const struct record_phase *phase = &case_->record.phases[i];

		for (size_t k = 0; k < phase->probe_count; k++) {
			const struct record_probe *found = &phase->probes[k];
			const struct catalog_probe *entry =
				catalog_find(catalog_builtin(), found->id);
			struct record_probe again = *found;

			if (!entry)
				continue; /* judge_probe_list() has said so */
			record_judge_probe(&again, entry);
			findings_true(findings, FINDING_PROBE_MATCHED, PROBE("matched"),
				      found->matched == again.matched,
				      again.matched ? "true" : "false",
				      found->matched ? "true" : "false");
			findings_text(findings, FINDING_PROBE_BASIS, PROBE("basis"),
				      basis_names[again.basis],
				      basis_names[found->basis]);
			findings_true(findings, FINDING_PROBE_CONCLUSIVE,
				      PROBE("conclusive"),
				      found->conclusive == again.conclusive,
				      again.conclusive ? "true" : "false",
				      found->conclusive ? "true" : "false");
		}
	}
}

/* What the record, if it is true, says of the host: by the probe's name, for readers
 * who do not count elements. */
static void check_result(const struct record_probe *probe, size_t i, size_t k,
			 struct findings *findings)
{
	char expected[FINDING_TEXT_SIZE];

	if (!probe->matched) {
		snprintf(expected, sizeof(expected), "%s: %s", probe->id,
			 expectation_names[probe->expect]);
		findings_true(findings, FINDING_PROBE_UNMATCHED, PROBE("observed"), false,
			      expected, observed_names[probe->observed]);
	}
	if (!probe->conclusive) {
		snprintf(expected, sizeof(expected), "%s: a basis that holds", probe->id);
		findings_true(findings, FINDING_PROBE_INCONCLUSIVE, PROBE("basis"), false,
			      expected, basis_names[probe->basis]);
	}
}

void judge_probe_results(const struct verify_case *case_, struct findings *findings)
{
	for (size_t i = 0; i < case_->record.phase_count; i++) {
		const struct record_phase *phase = &case_->record.phases[i];

		for (size_t k = 0; k < phase->probe_count; k++)
			check_result(&phase->probes[k], i, k, findings);
	}
}
