// SPDX-License-Identifier: GPL-2.0-or-later
// Checks of what the record is bound to: documents, host, policy, units.
#include "verifier/judge.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy/catalog.h"
#include "policy/endpoint_digest.h"
#include "policy/ruleset.h"

#define RECORD(...) spot_at("record", __VA_ARGS__)

void judge_kind(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	bool is_network = record->kind == RECORD_NETWORK_ENFORCEMENT;

	findings_true(findings, FINDING_KIND, RECORD("/kind"), is_network,
		      record_kind_names[RECORD_NETWORK_ENFORCEMENT],
		      record_kind_names[record->kind]);
	findings_true(findings, FINDING_BINDING_MISSING, RECORD("/network_binding"),
		      !is_network || record->has_network_binding, "there", "missing");
	findings_true(findings, FINDING_BINDING_UNEXPECTED, RECORD("/network_binding"),
		      is_network || !record->has_network_binding, "missing", "there");
}

void judge_coverage(const struct verify_case *case_, struct findings *findings)
{
	const struct site *site = &case_->files->site;
	const struct record *record = &case_->record;
	OWN(own_pointer) struct record *wanted = calloc(1, sizeof(*wanted));

	if (!wanted) {
		findings->is_short = true;
		return;
	}
	record_set_coverage(wanted, site->router_namespace == SITE_ROUTER_ROOTLESS_NETNS);
	findings_text(findings, FINDING_COVERAGE, RECORD("/coverage"), wanted->coverage,
		      record->coverage);
	if (!findings_number(findings, FINDING_NOT_COVERED, RECORD("/not_covered"),
			     (int64_t)wanted->not_covered_count,
			     (int64_t)record->not_covered_count))
		return;
	for (size_t i = 0; i < record->not_covered_count; i++)
		findings_text(findings, FINDING_NOT_COVERED,
			      RECORD("/not_covered/%zu", i), wanted->not_covered[i],
			      record->not_covered[i]);
}

void judge_catalog(const struct verify_case *case_, struct findings *findings)
{
	char ours[DIGEST_TEXT_SIZE] = "";
	struct diag diag = {0};

	/* Memory that ended leaves "", which no digest equals. */
	(void)catalog_builtin_digest(ours, &diag);
	findings_text(findings, FINDING_CATALOG, RECORD("/catalog_sha256"), ours,
		      case_->record.catalog_sha256);
	findings_text(findings, FINDING_CATALOG, spot_at("release", "/catalog_sha256"),
		      ours, case_->files->release.catalog_sha256);
	findings_text(findings, FINDING_CATALOG, spot_at("pre", "/catalog_sha256"), ours,
		      case_->pre.catalog_sha256);
	findings_text(findings, FINDING_CATALOG, spot_at("post", "/catalog_sha256"), ours,
		      case_->files->post.catalog_sha256);
}

void judge_site(const struct verify_case *case_, struct findings *findings)
{
	const char *pinned = case_->files->site_sha256;

	findings_text(findings, FINDING_SITE, RECORD("/site_sha256"), pinned,
		      case_->record.site_sha256);
	findings_text(findings, FINDING_SITE, spot_at("pre", "/site_sha256"), pinned,
		      case_->pre.site_sha256);
	findings_text(findings, FINDING_SITE, spot_at("post", "/site_sha256"), pinned,
		      case_->files->post.site_sha256);
}

static void check_host(struct findings *findings, const char *document,
		       const struct host *expected, const struct host *found)
{
	findings_text(findings, FINDING_MACHINE,
		      spot_at(document, "/host/machine_id_sha256"),
		      expected->machine_id_sha256, found->machine_id_sha256);
	findings_text(findings, FINDING_BOOT, spot_at(document, "/host/boot_id"),
		      expected->boot_id, found->boot_id);
	findings_text(findings, FINDING_KERNEL, spot_at(document, "/host/kernel"),
		      expected->kernel, found->kernel);
}

void judge_host(const struct verify_case *case_, struct findings *findings)
{
	const struct host *host = &case_->pre.host;

	check_host(findings, "record", host, &case_->record.host);
	check_host(findings, "post", host, &case_->files->post.host);
	findings_text(findings, FINDING_BOOT, RECORD("/residue/boot_id"), host->boot_id,
		      case_->record.residue.boot_id);
}

static void check_preflight_release(struct findings *findings, const char *document,
				    const struct case_files *files,
				    const struct preflight *preflight)
{
	const struct release *release = &files->release;

	findings_text(findings, FINDING_RELEASE, spot_at(document, "/release_sha256"),
		      files->release_sha256, preflight->release_sha256);
	findings_text(findings, FINDING_TARGETS, spot_at(document, "/targets_sha256"),
		      release->targets_sha256, preflight->targets_sha256);
	findings_text(findings, FINDING_IMAGE, spot_at(document, "/candidate_image_id"),
		      release->candidate_image.id, preflight->candidate_image_id);
	for (int i = 0; i < RELEASE_PROGRAM_COUNT; i++)
		findings_text(findings, FINDING_PROGRAMS,
			      spot_at(document, "/programs/%s", release_program_names[i]),
			      release->programs.sha256[i], preflight->programs.sha256[i]);
}

void judge_release(const struct verify_case *case_, struct findings *findings)
{
	const struct release *release = &case_->files->release;
	const struct record_release *recorded = &case_->record.release;

	findings_text(findings, FINDING_RELEASE, RECORD("/release/release_sha256"),
		      case_->files->release_sha256, recorded->release_sha256);
	findings_text(findings, FINDING_RELEASE, RECORD("/release/version"),
		      release->version, recorded->version);
	findings_text(findings, FINDING_RELEASE, RECORD("/release/source_revision"),
		      release->source_revision, recorded->source_revision);
	findings_text(findings, FINDING_RUNNER, RECORD("/release/probe_runner_sha256"),
		      release->programs.sha256[RELEASE_NET_PROBE],
		      recorded->probe_runner_sha256);
	findings_text(findings, FINDING_TARGETS, RECORD("/release/targets_sha256"),
		      release->targets_sha256, recorded->targets_sha256);
	findings_text(findings, FINDING_IMAGE, RECORD("/release/candidate_image_id"),
		      release->candidate_image.id, recorded->candidate_image_id);
	findings_text(findings, FINDING_COLLECTOR, RECORD("/tools/collector_sha256"),
		      release->programs.sha256[RELEASE_NET_COLLECTOR],
		      case_->record.tools.collector_sha256);
	check_preflight_release(findings, "pre", case_->files, &case_->pre);
	check_preflight_release(findings, "post", case_->files, &case_->files->post);
}

void judge_profile(const struct verify_case *case_, struct findings *findings)
{
	const struct profile *profile = &case_->files->profile;
	const struct record_inputs *inputs = &case_->record.inputs;

	if (!findings_text(findings, FINDING_PROFILE, RECORD("/inputs/profile_sha256"),
			   profile->sha256, inputs->profile_sha256))
		return;
	findings_true(findings, FINDING_CANDIDATES, spot_at("profile", "/candidate_tcp"),
		      profile_has_site_candidates(profile, &case_->files->site),
		      "exactly the site's", "others");
	findings_number(findings, FINDING_PROFILE_TIMES, RECORD("/inputs/issued_at_unix"),
			profile->issued_at_unix, inputs->issued_at_unix);
	findings_number(findings, FINDING_PROFILE_TIMES,
			RECORD("/inputs/expires_at_unix"), profile->expires_at_unix,
			inputs->expires_at_unix);
}

/* The endpoint that a record must name at `index`: as record.md lists them. */
static bool endpoint_at(const struct case_files *files, size_t index,
			const char **ret_address, int64_t *ret_port,
			enum endpoint_role *ret_role)
{
	const struct profile *profile = &files->profile;
	const struct profile_endpoint *granted = NULL;
	const struct site_endpoint *own = NULL;

	if (index < profile->trusted_tcp_count) {
		granted = &profile->trusted_tcp[index];
		*ret_role = ENDPOINT_ROLE_TRUSTED_TCP;
	} else if ((index -= profile->trusted_tcp_count) < profile->trusted_dns_count) {
		granted = &profile->trusted_dns[index];
		*ret_role = ENDPOINT_ROLE_TRUSTED_DNS;
	} else if ((index -= profile->trusted_dns_count) < 2) {
		own = index == 0 ? &files->site.router : &files->site.proxy;
		*ret_role = index == 0 ? ENDPOINT_ROLE_ROUTER : ENDPOINT_ROLE_PROXY;
	} else {
		return false;
	}
	*ret_address = granted ? granted->address : own->address;
	*ret_port = granted ? granted->port : own->port;
	return true;
}

void judge_endpoints(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	const struct profile *profile = &case_->files->profile;
	size_t wanted = profile->trusted_tcp_count + profile->trusted_dns_count + 2;

	if (!findings_number(findings, FINDING_ENDPOINTS, RECORD("/endpoints"),
			     (int64_t)wanted, (int64_t)record->endpoint_count))
		return;
	for (size_t i = 0; i < wanted; i++) {
		char digest[DIGEST_TEXT_SIZE] = "";
		enum endpoint_role role = 0;
		const char *address = "";
		struct diag diag = {0};
		int64_t port = 0;

		/* Memory that ended leaves "", which no digest equals. */
		if (endpoint_at(case_->files, i, &address, &port, &role))
			(void)endpoint_digest(profile->label_key, address, port, role,
					      digest, &diag);
		findings_text(findings, FINDING_ENDPOINTS,
			      RECORD("/endpoints/%zu/role", i), endpoint_role_names[role],
			      endpoint_role_names[record->endpoints[i].role]);
		findings_text(findings, FINDING_ENDPOINTS,
			      RECORD("/endpoints/%zu/endpoint_sha256", i), digest,
			      record->endpoints[i].endpoint_sha256);
	}
}

void judge_binding(const struct verify_case *case_, struct findings *findings)
{
	const struct record_binding *binding = &case_->record.network_binding;
	const struct site *site = &case_->files->site;
	struct ruleset_counts counts = ruleset_count_rules(&case_->files->profile);
	char cgroup[SITE_CGROUP_SIZE];

	site_worker_cgroup(site, cgroup);
	findings_text(findings, FINDING_WORKER_CGROUP,
		      RECORD("/network_binding/worker_cgroup"), cgroup,
		      binding->worker_cgroup);
	findings_text(findings, FINDING_NFT_TABLE, RECORD("/network_binding/nft_table"),
		      site->table, binding->nft_table);
	findings_text(findings, FINDING_PROXY_UNIT,
		      RECORD("/network_binding/refusing_proxy_unit"), site->proxy_unit,
		      binding->refusing_proxy_unit);
	findings_text(findings, FINDING_PROXY_PROGRAM,
		      RECORD("/network_binding/refusing_proxy_sha256"),
		      case_->files->release.programs.sha256[RELEASE_NET_PROXY],
		      binding->refusing_proxy_sha256);
	findings_number(findings, FINDING_RULE_COUNT,
			RECORD("/network_binding/scoped_output_rules"),
			counts.scoped_output, binding->scoped_output_rules);
	findings_number(findings, FINDING_RULE_COUNT,
			RECORD("/network_binding/scoped_input_rules"),
			counts.scoped_input, binding->scoped_input_rules);
	findings_true(
		findings, FINDING_SCOPED_IS_DENY,
		RECORD("/network_binding/scoped_ruleset_sha256"),
		strcmp(binding->scoped_ruleset_sha256, binding->deny_ruleset_sha256) != 0,
		"another digest than deny_ruleset_sha256", "the same");
	findings_true(
		findings, FINDING_SCOPED_IS_DENY,
		RECORD("/network_binding/scoped_kernel_sha256"),
		strcmp(binding->scoped_kernel_sha256, binding->deny_kernel_sha256) != 0,
		"another digest than deny_kernel_sha256", "the same");
}

void judge_guard(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	const struct record_binding *binding = &record->network_binding;
	const char *guard = case_->pre.guard_kernel_sha256;

	findings_text(findings, FINDING_GUARD,
		      RECORD("/network_binding/deny_kernel_sha256"), guard,
		      binding->deny_kernel_sha256);
	findings_text(findings, FINDING_GUARD,
		      RECORD("/preconditions/guard_kernel_sha256"), guard,
		      record->preconditions.guard_kernel_sha256);
	findings_text(findings, FINDING_GUARD, RECORD("/residue/guard_kernel_sha256"),
		      guard, record->residue.guard_kernel_sha256);
	findings_text(findings, FINDING_GUARD, spot_at("post", "/guard_kernel_sha256"),
		      guard, case_->files->post.guard_kernel_sha256);
	/* The guard's listing is compared without what is inert: the semantic one. */
	findings_text(
		findings, FINDING_GUARD, RECORD("/network_binding/deny_ruleset_sha256"),
		case_->pre.nft_ruleset_semantic_sha256, binding->deny_ruleset_sha256);
	findings_text(
		findings, FINDING_GUARD, RECORD("/preconditions/guard_ruleset_sha256"),
		binding->deny_ruleset_sha256, record->preconditions.guard_ruleset_sha256);
	findings_text(findings, FINDING_GUARD, RECORD("/residue/guard_ruleset_sha256"),
		      binding->deny_ruleset_sha256, record->residue.guard_ruleset_sha256);
}

void judge_foreign(const struct verify_case *case_, struct findings *findings)
{
	const char *foreign = case_->pre.nft_foreign_sha256;
	const struct record *record = &case_->record;

	findings_text(findings, FINDING_FOREIGN,
		      RECORD("/network_binding/foreign_sha256"), foreign,
		      record->network_binding.foreign_sha256);
	findings_text(findings, FINDING_FOREIGN, RECORD("/preconditions/foreign_sha256"),
		      foreign, record->preconditions.foreign_sha256);
	findings_text(findings, FINDING_FOREIGN, RECORD("/residue/foreign_sha256"),
		      foreign, record->residue.foreign_sha256);
	findings_text(findings, FINDING_FOREIGN, spot_at("post", "/nft_foreign_sha256"),
		      foreign, case_->files->post.nft_foreign_sha256);
}

/* The states of a host on which no collection runs: systemd's words for a unit that
 * has stopped, one that stays active without a process, and running services. */
static const struct unit_row {
	const char *key;
	size_t at;   /* in struct preflight_units */
	size_t name; /* in struct site */
	const char *active, *sub;
} unit_rows[] = {
	{"worker", offsetof(struct preflight_units, worker),
	 offsetof(struct site, worker_unit), "inactive", "dead"},
	{"guard", offsetof(struct preflight_units, guard),
	 offsetof(struct site, guard_unit), "active", "exited"},
	{"proxy", offsetof(struct preflight_units, proxy),
	 offsetof(struct site, proxy_unit), "active", "running"},
	{"engine", offsetof(struct preflight_units, engine),
	 offsetof(struct site, engine_unit), "active", "running"},
};

static const struct unit_state *unit_of(const struct preflight *preflight,
					const struct unit_row *row)
{
	const void *unit = (const char *)&preflight->units + row->at;

	return unit;
}

static void check_unit(struct findings *findings, const char *document,
		       const struct unit_row *row, const struct site *site,
		       const char *sha256, const struct unit_state *unit)
{
	findings_text(findings, FINDING_WORKER_UNIT,
		      spot_at(document, "/units/%s/name", row->key),
		      (const char *)site + row->name, unit->name);
	findings_text(findings, FINDING_WORKER_UNIT,
		      spot_at(document, "/units/%s/unit_sha256", row->key), sha256,
		      unit->unit_sha256);
	findings_text(findings, FINDING_UNIT_STATE,
		      spot_at(document, "/units/%s/active_state", row->key), row->active,
		      unit->active_state);
	findings_text(findings, FINDING_UNIT_STATE,
		      spot_at(document, "/units/%s/sub_state", row->key), row->sub,
		      unit->sub_state);
}

void judge_units(const struct verify_case *case_, struct findings *findings)
{
	const struct preflight *pre = &case_->pre, *post = &case_->files->post;
	const struct site *site = &case_->files->site;

	findings_text(findings, FINDING_WORKER_UNIT,
		      RECORD("/network_binding/worker_unit_sha256"),
		      pre->units.worker.unit_sha256,
		      case_->record.network_binding.worker_unit_sha256);
	for (size_t i = 0; i < ARRAY_SIZE(unit_rows); i++) {
		const struct unit_row *row = &unit_rows[i];
		const char *sha256 = unit_of(pre, row)->unit_sha256;

		check_unit(findings, "pre", row, site, sha256, unit_of(pre, row));
		check_unit(findings, "post", row, site, sha256, unit_of(post, row));
	}
}

void judge_daemon(const struct verify_case *case_, struct findings *findings)
{
	const char *daemon = case_->pre.daemon_sha256;

	findings_text(findings, FINDING_DAEMON, RECORD("/preconditions/daemon_sha256"),
		      daemon, case_->record.preconditions.daemon_sha256);
	findings_text(findings, FINDING_DAEMON, RECORD("/residue/daemon_sha256"), daemon,
		      case_->record.residue.daemon_sha256);
	findings_text(findings, FINDING_DAEMON, spot_at("post", "/daemon_sha256"), daemon,
		      case_->files->post.daemon_sha256);
	findings_text(findings, FINDING_DAEMON, spot_at("pre", "/daemon/socket"),
		      case_->files->site.engine.socket, case_->pre.daemon.socket);
}

static bool do_overlap(const struct record_range *one, const struct record_range *other)
{
	return one->start < other->start + other->count &&
	       other->start < one->start + one->count;
}

void judge_preconditions(const struct verify_case *case_, struct findings *findings)
{
	const struct record_preconditions *found = &case_->record.preconditions;

	findings_text(findings, FINDING_PRECONDITION,
		      RECORD("/preconditions/worker_active_state"), "inactive",
		      found->worker_active_state);
	findings_text(findings, FINDING_PRECONDITION,
		      RECORD("/preconditions/guard_active_state"), "active",
		      found->guard_active_state);
	findings_text(findings, FINDING_PRECONDITION,
		      RECORD("/preconditions/proxy_active_state"), "active",
		      found->proxy_active_state);
	findings_number(findings, FINDING_PRECONDITION,
			RECORD("/preconditions/containers"), 0, found->containers);
	findings_number(findings, FINDING_PRECONDITION,
			RECORD("/preconditions/job_networks"), 0, found->job_networks);
	findings_number(findings, FINDING_PRECONDITION,
			RECORD("/preconditions/foreign_sockets"), 0,
			found->foreign_sockets);
	findings_true(findings, FINDING_SUBJECTS, RECORD("/preconditions/workload_uid"),
		      found->workload_uid > 0, "a user that is not root", "0");
	findings_true(findings, FINDING_SUBJECTS,
		      RECORD("/preconditions/subordinate_uids"),
		      found->subordinate_uid_count > 0, "at least one range", "none");
	for (size_t i = 0; i < found->subordinate_uid_count; i++) {
		const struct record_range *range = &found->subordinate_uids[i];
		bool holds_user = range->start <= found->workload_uid &&
				  found->workload_uid < range->start + range->count;

		findings_true(findings, FINDING_SUBJECTS,
			      RECORD("/preconditions/subordinate_uids/%zu", i),
			      range->start > 0 && !holds_user,
			      "ids of neither root nor the user", "one of them");
		for (size_t k = 0; k < i; k++)
			findings_true(findings, FINDING_SUBJECTS,
				      RECORD("/preconditions/subordinate_uids/%zu", i),
				      !do_overlap(range, &found->subordinate_uids[k]),
				      "ids of no other range", "another's");
	}
}

void judge_residue(const struct verify_case *case_, struct findings *findings)
{
	const struct record_residue *residue = &case_->record.residue;

	findings_number(findings, FINDING_RESIDUE, RECORD("/residue/containers"), 0,
			residue->containers);
	findings_number(findings, FINDING_RESIDUE, RECORD("/residue/networks"), 0,
			residue->networks);
	findings_number(findings, FINDING_RESIDUE, RECORD("/residue/processes"), 0,
			residue->processes);
	findings_number(findings, FINDING_RESIDUE, RECORD("/residue/files"), 0,
			residue->files);
	findings_text(findings, FINDING_RESIDUE, RECORD("/residue/worker_active_state"),
		      "inactive", residue->worker_active_state);
}

void judge_post(const struct verify_case *case_, struct findings *findings)
{
	findings_true(findings, FINDING_POST_IS_PRE, spot_at("post", "%s", ""),
		      strcmp(case_->files->post_sha256,
			     case_->record.pre_collection_preflight_sha256) != 0,
		      "another preflight than the one before", "the same");
	findings_text(findings, FINDING_SEMANTIC,
		      spot_at("post", "/nft_ruleset_semantic_sha256"),
		      case_->pre.nft_ruleset_semantic_sha256,
		      case_->files->post.nft_ruleset_semantic_sha256);
}
