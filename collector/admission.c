// SPDX-License-Identifier: GPL-2.0-or-later
// Admitting an agent: in its place, the reviewed program, confined, and saying the truth.
#include "collector/admission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/formats.h"
#include "collector/inspect.h"
#include "collector/measure.h"

/* --- where an agent must be ------------------------------------------------------ */

bool admission_subordinate_id(const struct session *session, uint32_t n, uint32_t *ret_id)
{
	for (size_t i = 0; i < session->subjects.count; i++) {
		uint32_t first = session->subjects.ranges[i].first;
		uint32_t last = session->subjects.ranges[i].last;
		uint32_t size = last - first + 1;

		if (session->uid >= first && session->uid <= last) {
			/* The account's own uid is no subordinate one. */
			if (size == 1)
				continue;
			size--;
		}
		if (n <= size) {
			*ret_id = first + n - 1;
			if (session->uid >= first && session->uid <= *ret_id)
				(*ret_id)++;
			return true;
		}
		n -= size;
	}
	return false;
}

static bool is_container(int position)
{
	return position == POSITION_CANDIDATE || position == POSITION_SIBLING ||
	       position == POSITION_EXECUTOR;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

int admission_expected_ids(const struct session *session, int position, uid_t *ret_uid,
			   gid_t *ret_gid, struct diag *diag)
{
	uint32_t id = 0;

	*ret_gid = session->gid;
	switch (position) {
	case POSITION_CONTROL:
		*ret_uid = *ret_gid = 0;
		return 0;
	case POSITION_WORKER:
		*ret_gid = session->worker_gid;
		*ret_uid = session->uid;
		return 0;
	case POSITION_DAEMON:
		*ret_uid = session->uid;
		return 0;
	case POSITION_DAEMON_SUBORDINATE:
		if (!admission_subordinate_id(session, 1, &id))
			break;
		*ret_uid = id;
		return 0;
	default:
		/* The engine maps 0 to the workload user, 1 and on to the ranges. */
		if (!admission_subordinate_id(
			    session,
			    position == POSITION_EXECUTOR
				    ? (uint32_t)session->site.executor_uid
				    : (uint32_t)session->site.candidate_uid,
			    &id))
			break;
		*ret_uid = *ret_gid = id;
		return 0;
	}
	return diag_refuse(
		diag, "subordinate ids",
		"the workload user has too few of them; give it 65536 with usermod(8)");
}

static int check_cgroup(const struct session *session, int position,
			const struct measurement *measured, struct diag *diag)
{
	char wanted[UNITS_PATH_SIZE + UNITS_TEXT_SIZE], daemon[SITE_CGROUP_SIZE];
	bool is_right;

	site_daemon_cgroup(session->uid, daemon);
	switch (position) {
	case POSITION_CONTROL:
		snprintf(wanted, sizeof(wanted), "%s", session->self.cgroup);
		is_right = strcmp(measured->cgroup, wanted) == 0;
		break;
	case POSITION_WORKER:
		site_worker_cgroup(&session->site, wanted);
		is_right = strcmp(measured->cgroup, wanted) == 0;
		break;
	case POSITION_DAEMON:
	case POSITION_DAEMON_SUBORDINATE:
		snprintf(wanted, sizeof(wanted), "%s/app.slice/%s", daemon,
			 session->agents[POSITION_DAEMON].unit);
		is_right = strcmp(measured->cgroup, wanted) == 0;
		break;
	default:
		snprintf(wanted, sizeof(wanted), "%s/", daemon);
		is_right = starts_with(measured->cgroup, wanted);
	}
	return is_right ? 0
			: diag_refuse(diag, NULL,
				      "is in the cgroup '%s', not '%s'; find what moved "
				      "it there",
				      measured->cgroup, wanted);
}

static int check_namespaces(const struct session *session, int position,
			    const struct measurement *measured, struct diag *diag)
{
	const struct measurement *self = &session->self;

	if (!is_container(position)) {
		if (measured->net_namespace != self->net_namespace ||
		    measured->user_namespace != self->user_namespace ||
		    measured->depth != 1)
			return diag_refuse(
				diag, NULL,
				"is not in the host's namespaces; find what moved it");
		return 0;
	}
	if (measured->net_namespace == self->net_namespace ||
	    measured->user_namespace == self->user_namespace || measured->depth < 2)
		return diag_refuse(diag, NULL,
				   "shares a namespace with the host; take that option "
				   "from the engine");
	return 0;
}

/* Nothing but the policy may make a socket call of the agent's fail. The worker's own
 * filters are its unit's, which was judged. */
static int check_confinement(const struct session *session, int position,
			     const struct measurement *measured, struct diag *diag)
{
	struct confinement confinement = measured->confinement;
	int filters = session->outer_filters + 1; /* its own */

	if (is_container(position)) {
		filters += daemon_identity_has_seccomp(&session->engine_info.identity);
		/* The engine's own profile denies no socket call; a filter beside it
		 * may. */
		if (starts_with(confinement.label, "docker-default "))
			confinement.label[0] = '\0';
	} else if (position != POSITION_DAEMON) {
		filters = confinement.filters;
	}
	return inspect_confinement(NULL, &confinement, filters, diag);
}

int admission_check_place(struct session *session, int position,
			  const struct measurement *measured, struct diag *diag)
{
	uid_t uid = 0;
	gid_t gid = 0;
	int error = admission_expected_ids(session, position, &uid, &gid, diag);

	if (error)
		return error;
	if (measured->uid != uid || measured->gid != gid)
		return diag_refuse(diag, NULL,
				   "runs as %u:%u, not %u:%u; find what changed its user",
				   measured->uid, measured->gid, uid, gid);
	error = check_cgroup(session, position, measured, diag);
	if (!error)
		error = check_namespaces(session, position, measured, diag);
	if (!error)
		error = check_confinement(session, position, measured, diag);
	return error;
}

/* --- admission -------------------------------------------------------------------- */

/* What the agent says of itself against what was seen from outside. */
static int check_hello(const struct agent *agent, const struct measurement *measured,
		       const struct agent_answer *hello, struct diag *diag)
{
	uint32_t uid, gid;

	if (!hello->has_pid || !hello->has_uid || !hello->has_gid || !hello->has_digest ||
	    !hello->has_sandbox)
		return diag_refuse(diag, NULL,
				   "its hello is not whole" MEASURE_HINT_IMPOSTOR);
	if (strcmp(hello->probe_runner_sha256, measured->exe_sha256) != 0)
		return diag_refuse(
			diag, NULL,
			"says its digest is %s, but it is %s" MEASURE_HINT_IMPOSTOR,
			hello->probe_runner_sha256, measured->exe_sha256);
	if (hello->pid != measured->inner_pid)
		return diag_refuse(
			diag, NULL,
			"says its pid is %lld, but it is %d" MEASURE_HINT_IMPOSTOR,
			(long long)hello->pid, measured->inner_pid);
	if (!measure_map_id(measured->uids, measured->uid_count, (uint32_t)hello->uid,
			    &uid) ||
	    uid != measured->uid)
		return diag_refuse(
			diag, NULL,
			"says its uid is %lld, which is not %u" MEASURE_HINT_IMPOSTOR,
			(long long)hello->uid, measured->uid);
	if (!measure_map_id(measured->gids, measured->gid_count, (uint32_t)hello->gid,
			    &gid) ||
	    gid != measured->gid)
		return diag_refuse(
			diag, NULL,
			"says its gid is %lld, which is not %u" MEASURE_HINT_IMPOSTOR,
			(long long)hello->gid, measured->gid);
	if (!hello->sandbox.no_new_privs || !hello->sandbox.seccomp)
		return diag_refuse(diag, NULL,
				   "says it is not confined" MEASURE_HINT_IMPOSTOR);
	(void)agent;
	return 0;
}

static void fill_entry(struct agent *agent, const struct measurement *before)
{
	struct record_agent *entry = &agent->entry;
	const struct measurement *after = &agent->measured;

	*entry = (struct record_agent){
		.position = agent->position,
		.program = AGENT_PROGRAM_NET_AGENT,
		.pid = agent->process.pid,
		.uid = after->uid,
		.gid = after->gid,
		.no_new_privs = after->no_new_privs,
		.seccomp = after->seccomp,
		.capabilities = after->capabilities,
	};
	strcpy(entry->before_sha256, before->exe_sha256);
	strcpy(entry->after_sha256, after->exe_sha256);
	snprintf(entry->cgroup, sizeof(entry->cgroup), "%s", after->cgroup);
}

/* The program must be right before the first word is exchanged. */
static int check_program(const struct session *session,
			 const struct measurement *measured, struct diag *diag)
{
	if (strcmp(measured->exe_sha256, session->runner_sha256) != 0)
		return diag_refuse(diag, NULL,
				   "runs a program with digest %s, not the probe runner; "
				   "find what replaced it, and install the release again",
				   measured->exe_sha256);
	return 0;
}

static int exchange_hello(struct session *session, struct agent *agent,
			  const struct measurement *before, struct diag *diag)
{
	const struct agent_request hello = {.op = AGENT_HELLO};
	struct agent_answer answer;
	int error = agentlink_ask(&agent->link, &hello, &answer, diag);

	if (!error)
		error = process_measure(&agent->process, &agent->measured, diag);
	if (!error)
		error = measure_check_same(before, &agent->measured, diag);
	if (!error)
		error = process_check_agent(&agent->process, &agent->measured,
					    session->runner_sha256, diag);
	if (!error)
		error = admission_check_place(session, agent->position, &agent->measured,
					      diag);
	if (!error)
		error = check_hello(agent, &agent->measured, &answer, diag);
	return error;
}

int admission_admit(struct session *session, struct agent *agent, int input, int output,
		    struct diag *diag)
{
	const char *name = position_names[agent->position];
	struct measurement before;
	char place[64];
	int error = agentlink_open(input, output, name, &session->wait, &session->decoder,
				   FORMAT_ANSWER, &agent->link, diag);

	snprintf(place, sizeof(place), "%s agent", name);
	if (!error)
		error = process_measure(&agent->process, &before, diag);
	if (!error)
		error = check_program(session, &before, diag);
	if (!error)
		error = exchange_hello(session, agent, &before, diag);
	if (!error)
		error = process_open_namespace(&agent->process, "net", &agent->net_fd,
					       diag);
	if (error) {
		if (!starts_with(diag->place, place))
			diag_prefix(diag, place);
		return error;
	}
	fill_entry(agent, &before);
	agent->is_there = true;
	session_step(session, "%s agent measured", name);
	return 0;
}

int admission_admit_socket(struct session *session, struct agent *agent, int *fd,
			   struct diag *diag)
{
	int taken = take_fd(fd);

	return admission_admit(session, agent, taken, taken, diag);
}

/* --- again ------------------------------------------------------------------------ */

int admission_measure_again(struct session *session, struct agent *agent,
			    struct diag *diag)
{
	struct measurement now;
	int error = agentlink_check_idle(&agent->link, diag);

	if (!error)
		error = process_measure(&agent->process, &now, diag);
	if (!error)
		error = process_check_agent(&agent->process, &now, session->runner_sha256,
					    diag);
	if (!error)
		error = measure_check_same(&agent->measured, &now, diag);
	if (error) {
		diag_prefix(diag, position_names[agent->position]);
		return error;
	}
	strcpy(agent->entry.end_sha256, now.exe_sha256);
	return 0;
}
