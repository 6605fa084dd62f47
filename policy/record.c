// SPDX-License-Identifier: GPL-2.0-or-later
// The evidence record of one collection (netproof.record.v1).
#include "policy/record.h"

#include <string.h>

#include "common/canonical.h"
#include "policy/tables.h"

#define COUNT_MAX CANONICAL_KEPT_MAX
#define ID_MAX 4294967295         /* uid_t and gid_t */
#define GENERATION_MAX 4294967295 /* nf_tables' generation has 32 bits */
#define PID_MAX 4194304           /* include/linux/threads.h, PID_MAX_LIMIT */
#define SECCOMP_MAX 2             /* linux/seccomp.h, SECCOMP_MODE_FILTER */
#define CAPABILITY_BITS 64

const char *const record_kind_names[] = {
	[RECORD_NETWORK_ENFORCEMENT] = "network_enforcement",
	[RECORD_RESOURCE] = "resource",
	[RECORD_PREEXEC] = "preexec",
	[RECORD_CLEANUP] = "cleanup",
	NULL,
};

const char *const comparison_cause_names[] = {
	[COMPARISON_BEGIN] = "begin",
	[COMPARISON_MOVED] = "moved",
	[COMPARISON_END] = "end",
	NULL,
};

const char *const ruleset_state_names[] = {
	[RULESET_SCOPED] = "scoped",
	[RULESET_EXPIRED] = "expired",
	[RULESET_DENY] = "deny",
	NULL,
};

const char *const agent_program_names[] = {
	[AGENT_PROGRAM_NET_AGENT] = "net-agent",
	[AGENT_PROGRAM_NET_ONCE] = "net-once",
	NULL,
};

static const struct json_field release_fields[] = {
	{JSON_DIGEST(struct record_release, release_sha256)},
	{JSON_TEXT(struct record_release, version, 1, &json_rule_ascii)},
	{JSON_TEXT(struct record_release, source_revision, 1, &json_rule_ascii)},
	{JSON_DIGEST(struct record_release, probe_runner_sha256)},
	{JSON_DIGEST(struct record_release, targets_sha256)},
	{JSON_TEXT(struct record_release, candidate_image_id, 1, &release_image_rule)},
};

static const struct json_table release_table =
	JSON_TABLE(struct record_release, release_fields);

static const struct json_field tools_fields[] = {
	{JSON_DIGEST(struct record_tools, collector_sha256)},
	{JSON_DIGEST(struct record_tools, engine_client_sha256)},
	{JSON_TEXT(struct record_tools, libnftables, 1, &json_rule_ascii)},
	{JSON_TEXT(struct record_tools, systemd, 1, &json_rule_ascii)},
};

static const struct json_table tools_table =
	JSON_TABLE(struct record_tools, tools_fields);

static const struct json_field inputs_fields[] = {
	{JSON_DIGEST(struct record_inputs, config_sha256)},
	{JSON_DIGEST(struct record_inputs, profile_sha256)},
	{TABLES_TIME(struct record_inputs, issued_at_unix)},
	{TABLES_TIME(struct record_inputs, expires_at_unix)},
};

static const struct json_table inputs_table =
	JSON_TABLE(struct record_inputs, inputs_fields);

static const struct json_field endpoint_fields[] = {
	{JSON_CHOICE(struct record_endpoint, role, endpoint_role_names)},
	{JSON_DIGEST(struct record_endpoint, endpoint_sha256)},
};

static const struct json_table endpoint_table =
	JSON_TABLE(struct record_endpoint, endpoint_fields);

static const struct json_field binding_fields[] = {
	{JSON_TEXT(struct record_binding, worker_cgroup, 1, &json_rule_ascii)},
	{JSON_TEXT(struct record_binding, nft_table, 1, &json_rule_name)},
	{JSON_DIGEST(struct record_binding, scoped_ruleset_sha256)},
	{JSON_DIGEST(struct record_binding, deny_ruleset_sha256)},
	{JSON_DIGEST(struct record_binding, scoped_kernel_sha256)},
	{JSON_DIGEST(struct record_binding, deny_kernel_sha256)},
	{JSON_DIGEST(struct record_binding, foreign_sha256)},
	{JSON_INTEGER(struct record_binding, scoped_output_rules, 0, COUNT_MAX)},
	{JSON_INTEGER(struct record_binding, scoped_input_rules, 0, COUNT_MAX)},
	{JSON_DIGEST(struct record_binding, worker_unit_sha256)},
	{JSON_TEXT(struct record_binding, refusing_proxy_unit, 1, &json_rule_ascii)},
	{JSON_DIGEST(struct record_binding, refusing_proxy_sha256)},
};

static const struct json_table binding_table =
	JSON_TABLE(struct record_binding, binding_fields);

static const struct json_field range_fields[] = {
	{JSON_INTEGER(struct record_range, start, 0, ID_MAX)},
	{JSON_INTEGER(struct record_range, count, 1, ID_MAX)},
};

static const struct json_table range_table =
	JSON_TABLE(struct record_range, range_fields);

static const struct json_field range_item = {
	JSON_ITEM_OBJECT(struct record_range, &range_table)};

static const struct json_field precondition_fields[] = {
	{TABLES_TIME(struct record_preconditions, checked_at_unix)},
	{JSON_DIGEST(struct record_preconditions, daemon_sha256)},
	{JSON_TEXT(struct record_preconditions, worker_active_state, 1, &json_rule_name)},
	{JSON_TEXT(struct record_preconditions, guard_active_state, 1, &json_rule_name)},
	{JSON_TEXT(struct record_preconditions, proxy_active_state, 1, &json_rule_name)},
	{JSON_DIGEST(struct record_preconditions, guard_ruleset_sha256)},
	{JSON_DIGEST(struct record_preconditions, guard_kernel_sha256)},
	{JSON_DIGEST(struct record_preconditions, foreign_sha256)},
	{JSON_INTEGER(struct record_preconditions, workload_uid, 0, ID_MAX)},
	{JSON_ARRAY(struct record_preconditions, subordinate_uids, subordinate_uid_count,
		    &range_item, 0)},
	{JSON_INTEGER(struct record_preconditions, containers, 0, COUNT_MAX)},
	{JSON_INTEGER(struct record_preconditions, job_networks, 0, COUNT_MAX)},
	{JSON_INTEGER(struct record_preconditions, foreign_sockets, 0, COUNT_MAX)},
};

static const struct json_table precondition_table =
	JSON_TABLE(struct record_preconditions, precondition_fields);

static const struct json_field comparison_fields[] = {
	{JSON_CHOICE(struct record_comparison, cause, comparison_cause_names)},
	{TABLES_TIME(struct record_comparison, at_unix)},
	{JSON_INTEGER(struct record_comparison, generation, 0, GENERATION_MAX)},
	{JSON_CHOICE(struct record_comparison, state, ruleset_state_names)},
	{JSON_DIGEST(struct record_comparison, ruleset_sha256)},
	{JSON_DIGEST(struct record_comparison, kernel_sha256)},
	{JSON_DIGEST(struct record_comparison, foreign_sha256)},
	{JSON_INTEGER(struct record_comparison, timed_elements, 0, COUNT_MAX)},
};

static const struct json_table comparison_table =
	JSON_TABLE(struct record_comparison, comparison_fields);

static const struct json_field agent_fields[] = {
	{JSON_CHOICE(struct record_agent, position, position_names)},
	{JSON_CHOICE(struct record_agent, program, agent_program_names)},
	{JSON_INTEGER(struct record_agent, pid, 1, PID_MAX)},
	{JSON_DIGEST(struct record_agent, before_sha256)},
	{JSON_DIGEST(struct record_agent, after_sha256)},
	{JSON_DIGEST(struct record_agent, end_sha256)},
	{JSON_INTEGER(struct record_agent, uid, 0, ID_MAX)},
	{JSON_INTEGER(struct record_agent, gid, 0, ID_MAX)},
	{JSON_TEXT(struct record_agent, cgroup, 0, &json_rule_ascii)},
	{JSON_BOOLEAN(struct record_agent, no_new_privs)},
	{JSON_INTEGER(struct record_agent, seccomp, 0, SECCOMP_MAX)},
	{JSON_INTEGER(struct record_agent, capabilities, 0, CAPABILITY_BITS)},
};

static const struct json_table agent_table =
	JSON_TABLE(struct record_agent, agent_fields);

static const struct json_field probe_fields[] = {
	{JSON_TEXT(struct record_probe, id, 1, &catalog_id_rule)},
	{JSON_DIGEST(struct record_probe, endpoint_sha256),
	 JSON_OPTIONAL(struct record_probe, has_endpoint)},
	{JSON_CHOICE(struct record_probe, expect, expectation_names)},
	{JSON_CHOICE(struct record_probe, observed, observed_names)},
	{JSON_BOOLEAN(struct record_probe, matched)},
	{JSON_CHOICE(struct record_probe, basis, basis_names)},
	{JSON_OBJECT(struct record_probe, evidence, &evidence_table)},
	{JSON_BOOLEAN(struct record_probe, conclusive)},
};

static const struct json_table probe_table =
	JSON_TABLE(struct record_probe, probe_fields);

static const struct json_field comparison_item = {
	JSON_ITEM_OBJECT(struct record_comparison, &comparison_table)};
static const struct json_field agent_item = {
	JSON_ITEM_OBJECT(struct record_agent, &agent_table)};
static const struct json_field probe_item = {
	JSON_ITEM_OBJECT(struct record_probe, &probe_table)};

static const struct json_field phase_fields[] = {
	{JSON_CHOICE(struct record_phase, phase, phase_names)},
	{TABLES_TIME(struct record_phase, started_at_unix)},
	{TABLES_TIME(struct record_phase, completed_at_unix)},
	{JSON_ARRAY(struct record_phase, comparisons, comparison_count, &comparison_item,
		    0)},
	{JSON_ARRAY(struct record_phase, agents, agent_count, &agent_item, 0)},
	{JSON_ARRAY(struct record_phase, probes, probe_count, &probe_item, 0)},
};

static const struct json_table phase_table =
	JSON_TABLE(struct record_phase, phase_fields);

static const struct json_field residue_fields[] = {
	{TABLES_TIME(struct record_residue, measured_at_unix)},
	{JSON_INTEGER(struct record_residue, containers, 0, COUNT_MAX)},
	{JSON_INTEGER(struct record_residue, networks, 0, COUNT_MAX)},
	{JSON_INTEGER(struct record_residue, processes, 0, COUNT_MAX)},
	{JSON_INTEGER(struct record_residue, files, 0, COUNT_MAX)},
	{JSON_TEXT(struct record_residue, worker_active_state, 1, &json_rule_name)},
	{JSON_DIGEST(struct record_residue, guard_ruleset_sha256)},
	{JSON_DIGEST(struct record_residue, guard_kernel_sha256)},
	{JSON_DIGEST(struct record_residue, foreign_sha256)},
	{JSON_DIGEST(struct record_residue, daemon_sha256)},
	{JSON_TEXT(struct record_residue, boot_id, 1, &host_boot_id_rule)},
};

static const struct json_table residue_table =
	JSON_TABLE(struct record_residue, residue_fields);

static const struct json_field not_covered_item = {
	JSON_ITEM_TEXT(RECORD_TEXT_SIZE, 1, &json_rule_name)};
static const struct json_field endpoint_item = {
	JSON_ITEM_OBJECT(struct record_endpoint, &endpoint_table)};
static const struct json_field phase_item = {
	JSON_ITEM_OBJECT(struct record_phase, &phase_table)};

static const struct json_field record_fields[] = {
	{JSON_LITERAL("schema", "netproof.record.v1")},
	{JSON_CHOICE(struct record, kind, record_kind_names)},
	{JSON_TEXT(struct record, coverage, 1, &json_rule_name)},
	{JSON_ARRAY(struct record, not_covered, not_covered_count, &not_covered_item, 0)},
	{JSON_DIGEST(struct record, catalog_sha256)},
	{JSON_DIGEST(struct record, site_sha256)},
	{JSON_OBJECT(struct record, host, &host_table)},
	{JSON_OBJECT(struct record, release, &release_table)},
	{JSON_OBJECT(struct record, tools, &tools_table)},
	{JSON_DIGEST(struct record, pre_collection_preflight_sha256)},
	{JSON_OBJECT(struct record, inputs, &inputs_table)},
	{JSON_ARRAY(struct record, endpoints, endpoint_count, &endpoint_item, 0)},
	{JSON_OBJECT(struct record, network_binding, &binding_table),
	 JSON_OPTIONAL(struct record, has_network_binding)},
	{JSON_OBJECT(struct record, preconditions, &precondition_table)},
	{JSON_ARRAY(struct record, phases, phase_count, &phase_item, 0)},
	{JSON_OBJECT(struct record, residue, &residue_table)},
	{TABLES_TIME(struct record, started_at_unix)},
	{TABLES_TIME(struct record, completed_at_unix)},
};

static const struct json_table record_table = JSON_TABLE(struct record, record_fields);

void record_set_coverage(struct record *record, bool is_router_in_engine)
{
	/* In the order of their names, which is how a verifier expects them. */
	static const char *const not_covered[] = {
		"daemon_restart_recovery",
		"production_worker",
		"reboot_recovery",
		"router_kernel_enforcement",
	};

	snprintf(record->coverage, sizeof(record->coverage), "same_boot");
	record->not_covered_count = ARRAY_SIZE(not_covered) - !is_router_in_engine;
	for (size_t i = 0; i < record->not_covered_count; i++)
		snprintf(record->not_covered[i], sizeof(record->not_covered[i]), "%s",
			 not_covered[i]);
}

int record_parse(const void *data, size_t size, const char *name,
		 struct record *ret_record, struct diag *diag)
{
	return json_table_parse_kept(data, size, RECORD_LIMIT, name, &record_table,
				     ret_record, diag);
}

int record_write(const struct record *record, struct bytes *ret_bytes, struct diag *diag)
{
	return tables_write_kept(&record_table, record, RECORD_LIMIT, "record", ret_bytes,
				 diag);
}

void record_judge_probe(struct record_probe *probe, const struct catalog_probe *entry)
{
	bool is_check = entry->op == CATALOG_OP_CHECK;
	unsigned int allowed = catalog_bases(entry);

	/* A held flow answers for a `check` and for nothing else. */
	if (probe->evidence.has_control && probe->evidence.control.held != is_check)
		allowed &= ~(1U << BASIS_CONTROL);
	probe->matched = verdict_matched((enum expectation)probe->expect,
					 (enum observed)probe->observed);
	probe->basis = (int)verdict_basis(allowed, &probe->evidence,
					  (enum observed)probe->observed);
	probe->conclusive = probe->basis != BASIS_NONE;
}

void record_count_probes(const struct record *record, size_t *ret_all, size_t *ret_good)
{
	size_t all = 0, good = 0;

	for (size_t i = 0; i < record->phase_count; i++) {
		const struct record_phase *phase = &record->phases[i];

		all += phase->probe_count;
		for (size_t j = 0; j < phase->probe_count; j++)
			good += phase->probes[j].matched && phase->probes[j].conclusive;
	}
	*ret_all = all;
	*ret_good = good;
}
