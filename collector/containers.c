// SPDX-License-Identifier: GPL-2.0-or-later
// The agents in containers: candidate, sibling and executor.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/admission.h"
#include "collector/agentsocket.h"
#include "collector/positions.h"
#include "common/clock.h"

enum { CHILDREN_MAX = 8, PIDS_MAX = 8 };

#define CONTAINER_FOLDER "agent"
#define CONTAINER_SOCKET "agent.sock"
#define CONTAINER_SOCKET_PATH "/" CONTAINER_FOLDER "/" CONTAINER_SOCKET

static void name_container(struct session *session, int position)
{
	struct agent *agent = &session->agents[position];

	snprintf(agent->name, sizeof(agent->name), "%s-%s-%s", session->site.name,
		 session->run, position_names[position]);
	if (position == POSITION_EXECUTOR)
		strcpy(agent->network, "none");
	else
		memcpy(agent->network, agent->name, sizeof(agent->network));
}

static int start_container(struct session *session, int position, struct diag *diag)
{
	struct agent *agent = &session->agents[position];
	char label[SITE_LABEL_SIZE + SESSION_RUN_SIZE];
	struct engine_run run = {
		.label = label,
		.image = session->release.candidate_image.id,
		.runner = session->layout.probe,
		.uid = position == POSITION_EXECUTOR ? (uid_t)session->site.executor_uid
						     : (uid_t)session->site.candidate_uid,
		.socket = CONTAINER_SOCKET_PATH,
	};
	const char *gateway = NULL;
	int error = 0;

	name_container(session, position);
	session_label(session, label, sizeof(label));
	strcpy(run.name, agent->name);
	strcpy(run.network, agent->network);
	/* The router's listener will be on this bridge's gateway. */
	if (position == POSITION_CANDIDATE &&
	    session->site.router_namespace == SITE_ROUTER_ROOTLESS_NETNS)
		gateway = session->site.router.address;
	if (position != POSITION_EXECUTOR) {
		error = journal_note(&session->journal, JOURNAL_NETWORK, agent->network,
				     diag);
		if (!error)
			error = engine_create_network(&session->engine, agent->network,
						      label, gateway, diag);
	}
	if (!error)
		error = journal_note(&session->journal, JOURNAL_CONTAINER, agent->name,
				     diag);
	if (!error)
		error = engine_run(&session->engine, &run, diag);
	if (!error)
		session_step(session, "%s container started", position_names[position]);
	return error;
}

/* What the engine must say of a container of ours. */
static int check_container(const struct session *session, const struct agent *agent,
			   const struct engine_container *container, struct diag *diag)
{
	const struct engine_mount *mount = &container->mounts[0];
	char user[32];
	int64_t uid = agent->position == POSITION_EXECUTOR ? session->site.executor_uid
							   : session->site.candidate_uid;
	const struct {
		bool is_wrong;
		const char *what;
	} rules[] = {
		{!container->is_running, "is not running"},
		{strcmp(container->image, session->release.candidate_image.id) != 0,
		 "is of another image"},
		{container->mount_count != 1, "has not exactly one mount"},
		{container->binds != 1, "has not exactly one bind"},
		{strcmp(mount->type, "bind") != 0 ||
			 strcmp(mount->source, session->layout.probe) != 0 ||
			 strcmp(mount->destination, "/net-probe") != 0,
		 "mounts something else than the probe runner"},
		{mount->is_writable, "mounts the probe runner writable"},
		{snprintf(user, sizeof(user), "%lld:%lld", (long long)uid,
			  (long long)uid) < 0 ||
			 strcmp(container->user, user) != 0,
		 "runs as another user"},
		{container->network_count != 1 ||
			 strcmp(container->networks[0].network, agent->network) != 0 ||
			 strcmp(container->network_mode, agent->network) != 0,
		 "is on another network"},
		{container->is_privileged || container->cap_add ||
			 container->cap_drop != 1,
		 "has privileges"},
		{container->security_count != 1 ||
			 strcmp(container->security[0], "no-new-privileges") != 0,
		 "has other security options"},
		{!container->is_read_only, "has a writable root"},
		{container->tmpfs != 1, "has not exactly one temporary file system"},
		{strcmp(container->ipc_mode, "none") != 0 || container->pid_mode[0] ||
			 container->userns_mode[0],
		 "shares a namespace"},
		/* An engine without the controllers discards a limit, and says so. */
		{(session->engine_info.has_pids_limit && !container->pids_limit) ||
			 (session->engine_info.has_memory_limit && !container->memory),
		 "is not bounded"},
		{container->has_devices || container->has_ports,
		 "has devices or published ports"},
		{!container->has_init || container->restart_count, "was restarted, or "
								   "has no init"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].is_wrong)
			return diag_refuse(
				diag, agent->name,
				"%s; find what changes the engine's containers",
				rules[i].what);
	return 0;
}

/* The one process below the container's init. */
static int find_agent(struct session *session, struct agent *agent, pid_t init,
		      struct diag *diag)
{
	OWN(process_close) struct process parent = PROCESS_INIT;
	int64_t deadline = clock_boot_ms() + ADMISSION_MS;
	pid_t children[CHILDREN_MAX];
	size_t count = 0;
	int error = process_open(init, &parent, diag);

	/* The engine says "started" when the init is; its child comes a moment
	 * later, and no event tells of it. */
	while (!error && !count) {
		error = process_children(&parent, children, CHILDREN_MAX, &count, diag);
		if (!error && !count) {
			if (clock_boot_ms() >= deadline)
				return diag_refuse(
					diag, agent->name,
					"runs no agent; see what the engine logged");
			error = wait_until(&session->wait, clock_boot_ms() + 5, diag);
		}
	}
	if (error)
		return error;
	if (count != 1)
		return diag_refuse(
			diag, agent->name,
			"has %zu processes below its init, not 1; find what joined it",
			count);
	return process_open(children[0], &agent->process, diag);
}

static int admit_container(struct session *session, int position, struct diag *diag)
{
	struct agent *agent = &session->agents[position];
	OWN(own_pointer)
	struct engine_container *container = calloc(1, sizeof(*container));
	OWN(own_fd) int folder_fd = -1;
	OWN(own_fd) int fd = -1;
	struct agentsocket_peer peer = {.uid = session->uid};
	int error;

	if (!container)
		return diag_no_memory(diag);
	error = engine_inspect(&session->engine, agent->name, container, diag);
	if (!error)
		error = check_container(session, agent, container, diag);
	if (!error)
		error = find_agent(session, agent, (pid_t)container->pid, diag);
	if (!error)
		error = admission_expected_ids(session, position, &peer.file_uid,
					       &peer.gid, diag);
	if (!error)
		error = agentsocket_open_folder(&agent->process, CONTAINER_FOLDER,
						&folder_fd, diag);
	if (!error)
		error = agentsocket_connect(&session->wait, folder_fd, CONTAINER_SOCKET,
					    &peer, clock_boot_ms() + ADMISSION_MS, &fd,
					    diag);
	if (!error)
		error = process_check_peer(&agent->process, fd, diag);
	if (error) {
		diag_prefix(diag, position_names[position]);
		return error;
	}
	strcpy(agent->address, container->networks[0].address);
	strcpy(agent->gateway, container->networks[0].gateway);
	return admission_admit_socket(session, agent, &fd, diag);
}

int positions_start_containers(struct session *session, struct diag *diag)
{
	static const int positions[] = {POSITION_CANDIDATE, POSITION_SIBLING,
					POSITION_EXECUTOR};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(positions); i++)
		error = start_container(session, positions[i], diag);
	for (size_t i = 0; !error && i < ARRAY_SIZE(positions); i++)
		error = admit_container(session, positions[i], diag);
	return error;
}

/* Its init and its agent, and nothing that was brought in beside them. */
static int check_processes(const struct agent *agent,
			   const struct engine_container *container, struct diag *diag)
{
	pid_t pids[PIDS_MAX];
	size_t count;
	int error =
		units_cgroup_pids(agent->measured.cgroup, pids, PIDS_MAX, &count, diag);

	if (error)
		return error;
	if ((pid_t)container->pid != agent->measured.parent)
		return diag_refuse(diag, agent->name,
				   "has another init than before; find what changes the "
				   "engine's containers");
	if (count != 2)
		return diag_refuse(diag, agent->name,
				   "has %zu processes, not 2; find what joined it",
				   count);
	return 0;
}

int positions_check_container(struct session *session, const struct agent *agent,
			      struct diag *diag)
{
	OWN(own_pointer)
	struct engine_container *container = calloc(1, sizeof(*container));
	int error =
		container ? engine_inspect(&session->engine, agent->name, container, diag)
			  : diag_no_memory(diag);

	if (!error)
		error = check_container(session, agent, container, diag);
	if (!error)
		error = check_processes(agent, container, diag);
	if (error)
		diag_prefix(diag, position_names[agent->position]);
	return error;
}
