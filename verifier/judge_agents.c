// SPDX-License-Identifier: GPL-2.0-or-later
// Checks of the agents: which there were, what they ran, as whom and where.
#include "verifier/judge.h"

#include <linux/seccomp.h>
#include <string.h>

#include "policy/catalog.h"

#define RECORD(...) spot_at("record", __VA_ARGS__)

/* Positions whose agent the probes of a phase need: those that act in it, and
 * the control where a probe rests on it. Bits 1 << enum position. */
static unsigned int needed_positions(const struct record_phase *phase)
{
	unsigned int needed = 0;

	for (size_t i = 0; i < phase->probe_count; i++) {
		const struct record_probe *probe = &phase->probes[i];
		const struct catalog_probe *entry =
			catalog_find(catalog_builtin(), probe->id);

		if (entry)
			needed |= 1U << entry->position;
		if (entry && entry->target == CATALOG_TARGET_SIBLING)
			needed |= 1U << POSITION_SIBLING;
		if (probe->evidence.has_control)
			needed |= 1U << POSITION_CONTROL;
	}
	return needed;
}

/* After a stop and after a failed start no session with the worker can be held. */
static enum agent_program expected_program(enum phase_name phase, int position)
{
	if (position == POSITION_WORKER &&
	    (phase == PHASE_STOP_ROLLBACK || phase == PHASE_FAILED_START))
		return AGENT_PROGRAM_NET_ONCE;
	return AGENT_PROGRAM_NET_AGENT;
}

static void check_presence(const struct record_phase *phase, size_t i,
			   struct findings *findings)
{
	unsigned int needed = needed_positions(phase);

	for (int position = 0; position < POSITION_COUNT; position++) {
		int64_t count = 0;

		for (size_t k = 0; k < phase->agent_count; k++)
			count += phase->agents[k].position == position;
		if (count == 0 && !(needed & (1U << position)))
			continue;
		if (count != 1)
			findings_add(findings, FINDING_AGENT_MISSING, "record",
				     RECORD("/phases/%zu/agents", i).pointer,
				     "one agent for each position",
				     count ? "two of one position"
					   : position_names[position]);
	}
}

static void check_measure(const struct record_agent *agent, const char *runner, size_t i,
			  size_t k, struct findings *findings)
{
	const char *const digests[] = {agent->before_sha256, agent->after_sha256,
				       agent->end_sha256};
	static const char *const keys[] = {"before_sha256", "after_sha256", "end_sha256"};

	for (size_t d = 0; d < ARRAY_SIZE(digests); d++)
		findings_text(findings, FINDING_AGENT_DIGEST,
			      RECORD("/phases/%zu/agents/%zu/%s", i, k, keys[d]), runner,
			      digests[d]);
	findings_true(findings, FINDING_AGENT_CONFINEMENT,
		      RECORD("/phases/%zu/agents/%zu/no_new_privs", i, k),
		      agent->no_new_privs, "true", "false");
	findings_number(findings, FINDING_AGENT_CONFINEMENT,
			RECORD("/phases/%zu/agents/%zu/seccomp", i, k),
			SECCOMP_MODE_FILTER, agent->seccomp);
	findings_number(findings, FINDING_AGENT_CONFINEMENT,
			RECORD("/phases/%zu/agents/%zu/capabilities", i, k), 0,
			agent->capabilities);
}

void judge_agents(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	const char *runner = case_->files->release.programs.sha256[RELEASE_NET_PROBE];

	for (size_t i = 0; i < record->phase_count; i++) {
		const struct record_phase *phase = &record->phases[i];

		check_presence(phase, i, findings);
		for (size_t k = 0; k < phase->agent_count; k++) {
			const struct record_agent *agent = &phase->agents[k];
			enum agent_program expected = expected_program(
				(enum phase_name)phase->phase, agent->position);

			findings_text(findings, FINDING_AGENT_PROGRAM,
				      RECORD("/phases/%zu/agents/%zu/program", i, k),
				      agent_program_names[expected],
				      agent_program_names[agent->program]);
			check_measure(agent, runner, i, k, findings);
		}
	}
}

/* The host's id of a rootless container's `id`: the engine maps 0 to the user
 * itself and the rest, in order, to the subordinate ranges. -1: none. */
static int64_t mapped_id(const struct record_preconditions *subjects, int64_t id)
{
	int64_t offset = id - 1;

	if (id == 0)
		return subjects->workload_uid;
	for (size_t i = 0; i < subjects->subordinate_uid_count; i++) {
		const struct record_range *range = &subjects->subordinate_uids[i];

		if (offset < range->count)
			return range->start + offset;
		offset -= range->count;
	}
	return -1;
}

static int64_t expected_uid(const struct verify_case *case_, int position)
{
	const struct record_preconditions *subjects = &case_->record.preconditions;

	switch (position) {
	case POSITION_WORKER:
	case POSITION_DAEMON:
		return subjects->workload_uid;
	case POSITION_DAEMON_SUBORDINATE:
		return mapped_id(subjects, 1);
	case POSITION_CANDIDATE:
	case POSITION_SIBLING:
		return mapped_id(subjects, case_->files->site.candidate_uid);
	case POSITION_EXECUTOR:
		return mapped_id(subjects, case_->files->site.executor_uid);
	default: /* the control, outside the policy */
		return 0;
	}
}

/* Whether `path` is `cgroup` or below it. */
static bool is_below(const char *path, const char *cgroup)
{
	size_t length = strlen(cgroup);

	return strncmp(path, cgroup, length) == 0 &&
	       (!path[length] || path[length] == '/');
}

static bool is_right_cgroup(const struct verify_case *case_,
			    const struct record_agent *agent, const char *daemon)
{
	const char *worker = case_->record.network_binding.worker_cgroup;

	switch (agent->position) {
	case POSITION_WORKER:
		return strcmp(agent->cgroup, worker) == 0;
	case POSITION_CONTROL:
		return !is_below(agent->cgroup, worker) &&
		       !is_below(agent->cgroup, daemon);
	default:
		return is_below(agent->cgroup, daemon);
	}
}

void judge_agent_ids(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	char daemon[SITE_CGROUP_SIZE];

	site_daemon_cgroup((uid_t)record->preconditions.workload_uid, daemon);
	for (size_t i = 0; i < record->phase_count; i++) {
		const struct record_phase *phase = &record->phases[i];

		for (size_t k = 0; k < phase->agent_count; k++) {
			const struct record_agent *agent = &phase->agents[k];

			findings_number(findings, FINDING_AGENT_IDS,
					RECORD("/phases/%zu/agents/%zu/uid", i, k),
					expected_uid(case_, agent->position), agent->uid);
			findings_true(findings, FINDING_AGENT_CGROUP,
				      RECORD("/phases/%zu/agents/%zu/cgroup", i, k),
				      is_right_cgroup(case_, agent, daemon),
				      "the position's", agent->cgroup);
		}
	}
}
