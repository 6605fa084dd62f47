// SPDX-License-Identifier: GPL-2.0-or-later
// Checks of the agents: which there were, what they ran, as whom and where.
#include "verifier/judge.h"

#include <linux/seccomp.h>
#include <string.h>

#include "policy/catalog.h"

#define RECORD(...) spot_at("record", __VA_ARGS__)

/* After a stop and after a failed start no session with the worker can be held. */
static enum agent_program expected_program(enum phase_name phase, int position)
{
	if (position == POSITION_WORKER &&
	    (phase == PHASE_STOP_ROLLBACK || phase == PHASE_FAILED_START))
		return AGENT_PROGRAM_NET_ONCE;
	return AGENT_PROGRAM_NET_AGENT;
}

/* Exactly one agent of each position, in the positions' order. Returns whether. */
static bool check_presence(const struct record_phase *phase, size_t i,
			   struct findings *findings)
{
	bool is_complete = true;

	for (int position = 0; position < POSITION_COUNT; position++) {
		int64_t count = 0;

		for (size_t k = 0; k < phase->agent_count; k++)
			count += phase->agents[k].position == position;
		is_complete &= findings_true(findings, FINDING_AGENT_MISSING,
					     RECORD("/phases/%zu/agents", i), count == 1,
					     position_names[position],
					     count ? "more than one" : "none");
	}
	for (size_t k = 0; is_complete && k < phase->agent_count; k++)
		is_complete = findings_text(
			findings, FINDING_AGENT_ORDER,
			RECORD("/phases/%zu/agents/%zu/position", i, k),
			position_names[k], position_names[phase->agents[k].position]);
	return is_complete;
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

		if (!check_presence(phase, i, findings))
			continue;
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

/* Groups are known by what they have in common alone: a record does not say which
 * subordinate ones the user has. `agents` are one of each position. */
static void check_groups(const struct record_agent *agents, size_t i,
			 struct findings *findings)
{
	int64_t daemon = agents[POSITION_DAEMON].gid;

	for (size_t k = 0; k < POSITION_COUNT; k++) {
		struct spot spot = RECORD("/phases/%zu/agents/%zu/gid", i, k);
		int64_t gid = agents[k].gid;

		switch (k) {
		case POSITION_CONTROL:
			findings_number(findings, FINDING_AGENT_IDS, spot, 0, gid);
			break;
		case POSITION_WORKER:
			/* Its unit's, which nothing else of the user has. */
			findings_true(findings, FINDING_AGENT_IDS, spot,
				      gid != 0 && gid != daemon,
				      "a group of the worker's own", "another's");
			break;
		case POSITION_DAEMON_SUBORDINATE:
			findings_number(findings, FINDING_AGENT_IDS, spot, daemon, gid);
			break;
		case POSITION_SIBLING:
			findings_number(findings, FINDING_AGENT_IDS, spot,
					agents[POSITION_CANDIDATE].gid, gid);
			break;
		default:
			findings_range(findings, FINDING_AGENT_IDS, spot, 1, INT64_MAX,
				       gid);
			break;
		}
	}
}

static void check_ids(const struct verify_case *case_, const struct record_agent *agents,
		      size_t i, struct findings *findings)
{
	for (size_t k = 0; k < POSITION_COUNT; k++) {
		findings_number(findings, FINDING_AGENT_IDS,
				RECORD("/phases/%zu/agents/%zu/uid", i, k),
				expected_uid(case_, (int)k), agents[k].uid);
		for (size_t other = 0; other < k; other++)
			findings_true(findings, FINDING_AGENT_IDS,
				      RECORD("/phases/%zu/agents/%zu/pid", i, k),
				      agents[k].pid != agents[other].pid,
				      "a process of its own", position_names[other]);
	}
	check_groups(agents, i, findings);
}

/* Whether `path` is `cgroup` or below it. */
static bool is_below(const char *path, const char *cgroup)
{
	size_t length = strlen(cgroup);

	return strncmp(path, cgroup, length) == 0 &&
	       (!path[length] || path[length] == '/');
}

static bool is_right_cgroup(const struct verify_case *case_,
			    const struct record_agent *agents, int position,
			    const char *daemon)
{
	const char *worker = case_->record.network_binding.worker_cgroup;
	const char *own = agents[position].cgroup;

	switch (position) {
	case POSITION_WORKER:
		return strcmp(own, worker) == 0;
	case POSITION_CONTROL:
		return !is_below(own, worker) && !is_below(own, daemon);
	case POSITION_DAEMON_SUBORDINATE:
		return strcmp(own, agents[POSITION_DAEMON].cgroup) == 0;
	default:
		break;
	}
	/* The daemon's and each container's are their own. */
	for (int other = POSITION_DAEMON; other < position; other++)
		if (other != POSITION_DAEMON_SUBORDINATE &&
		    strcmp(own, agents[other].cgroup) == 0)
			return false;
	return is_below(own, daemon);
}

static void check_cgroups(const struct verify_case *case_,
			  const struct record_agent *agents, const char *daemon, size_t i,
			  struct findings *findings)
{
	for (size_t k = 0; k < POSITION_COUNT; k++)
		findings_true(findings, FINDING_AGENT_CGROUP,
			      RECORD("/phases/%zu/agents/%zu/cgroup", i, k),
			      is_right_cgroup(case_, agents, (int)k, daemon),
			      "the position's", agents[k].cgroup);
}

/* All but the worker's live through the whole collection, and its unit's group stays
 * the same. */
static void check_same(const struct record_agent *first,
		       const struct record_agent *agents, size_t i,
		       struct findings *findings)
{
	for (size_t k = 0; k < POSITION_COUNT; k++) {
		findings_number(findings, FINDING_AGENT_REPLACED,
				RECORD("/phases/%zu/agents/%zu/gid", i, k), first[k].gid,
				agents[k].gid);
		if (k == POSITION_WORKER)
			continue;
		findings_number(findings, FINDING_AGENT_REPLACED,
				RECORD("/phases/%zu/agents/%zu/pid", i, k), first[k].pid,
				agents[k].pid);
		findings_text(findings, FINDING_AGENT_REPLACED,
			      RECORD("/phases/%zu/agents/%zu/cgroup", i, k),
			      first[k].cgroup, agents[k].cgroup);
	}
}

static bool is_whole(const struct record_phase *phase)
{
	for (size_t k = 0; k < phase->agent_count; k++)
		if (phase->agents[k].position != (int)k)
			return false;
	return phase->agent_count == POSITION_COUNT;
}

void judge_agent_ids(const struct verify_case *case_, struct findings *findings)
{
	const struct record *record = &case_->record;
	char daemon[SITE_CGROUP_SIZE];

	site_daemon_cgroup((uid_t)record->preconditions.workload_uid, daemon);
	for (size_t i = 0; i < record->phase_count; i++) {
		const struct record_phase *phase = &record->phases[i];

		if (!is_whole(phase))
			return; /* judge_agents() has said so */
		check_ids(case_, phase->agents, i, findings);
		check_cgroups(case_, phase->agents, daemon, i, findings);
		check_same(record->phases[0].agents, phase->agents, i, findings);
	}
}
