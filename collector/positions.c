// SPDX-License-Identifier: GPL-2.0-or-later
// The agents: started where SPEC 7.3 wants them, measured, measured again.
#include "collector/positions.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/agentsocket.h"
#include "collector/formats.h"
#include "collector/netview.h"
#include "common/clock.h"
#include "common/sandbox.h"

enum {
	START_MS = 20000,
	HELLO_MS = 5000,
	ADMIT_MS = 5000,
	CHILDREN_MAX = 8,
	CGROUP_PIDS_MAX = 8,
};

#define CONTAINER_FOLDER "agent"
#define CONTAINER_SOCKET "agent.sock"
#define CONTAINER_SOCKET_PATH "/" CONTAINER_FOLDER "/" CONTAINER_SOCKET
#define DAEMON_SOCKET "daemon.sock"

/* --- where an agent must be ------------------------------------------------------ */

bool positions_subordinate_id(const struct session *session, uint32_t n, uint32_t *ret_id)
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

static int expected_ids(const struct session *session, int position, uid_t *ret_uid,
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
		if (!positions_subordinate_id(session, 1, &id))
			break;
		*ret_uid = id;
		return 0;
	default:
		/* The engine maps 0 to the workload user, 1 and on to the ranges. */
		if (!positions_subordinate_id(
			    session,
			    position == POSITION_EXECUTOR
				    ? (uint32_t)session->site.executor_uid
				    : (uint32_t)session->site.candidate_uid,
			    &id))
			break;
		*ret_uid = *ret_gid = id;
		return 0;
	}
	return diag_refuse(diag, "subordinate ids",
			   "the workload user has too few of them");
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
			: diag_refuse(diag, NULL, "is in the cgroup '%s', not '%s'",
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
			return diag_refuse(diag, NULL, "is not in the host's namespaces");
		return 0;
	}
	if (measured->net_namespace == self->net_namespace ||
	    measured->user_namespace == self->user_namespace || measured->depth < 2)
		return diag_refuse(diag, NULL, "shares a namespace with the host");
	return 0;
}

int positions_check_place(struct session *session, int position,
			  const struct measurement *measured, struct diag *diag)
{
	uid_t uid = 0;
	gid_t gid = 0;
	int error = expected_ids(session, position, &uid, &gid, diag);

	if (error)
		return error;
	if (measured->uid != uid || measured->gid != gid)
		return diag_refuse(diag, NULL, "runs as %u:%u, not %u:%u", measured->uid,
				   measured->gid, uid, gid);
	error = check_cgroup(session, position, measured, diag);
	if (!error)
		error = check_namespaces(session, position, measured, diag);
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
		return diag_refuse(diag, NULL, "its hello is not whole");
	if (strcmp(hello->probe_runner_sha256, measured->exe_sha256) != 0)
		return diag_refuse(diag, NULL, "says its digest is %s; it is %s",
				   hello->probe_runner_sha256, measured->exe_sha256);
	if (hello->pid != measured->inner_pid)
		return diag_refuse(diag, NULL, "says its pid is %lld; it is %d",
				   (long long)hello->pid, measured->inner_pid);
	if (!measure_map_id(measured->uids, measured->uid_count, (uint32_t)hello->uid,
			    &uid) ||
	    uid != measured->uid)
		return diag_refuse(diag, NULL, "says its uid is %lld, which is not %u",
				   (long long)hello->uid, measured->uid);
	if (!measure_map_id(measured->gids, measured->gid_count, (uint32_t)hello->gid,
			    &gid) ||
	    gid != measured->gid)
		return diag_refuse(diag, NULL, "says its gid is %lld, which is not %u",
				   (long long)hello->gid, measured->gid);
	if (!hello->sandbox.no_new_privs || !hello->sandbox.seccomp)
		return diag_refuse(diag, NULL, "says it is not confined");
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
				   "runs a program with digest %s, not the probe runner",
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
		error = positions_check_place(session, agent->position, &agent->measured,
					      diag);
	if (!error)
		error = check_hello(agent, &agent->measured, &answer, diag);
	return error;
}

/* Admits the agent `agent->process`, speaking over `input` and `output`, which
 * belong to the agent from here on. */
static int admit(struct session *session, struct agent *agent, int input, int output,
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

/* The same over one socket, which it takes. */
static int admit_socket(struct session *session, struct agent *agent, int *fd,
			struct diag *diag)
{
	int taken = take_fd(fd);

	return admit(session, agent, taken, taken, diag);
}

/* --- our own children ------------------------------------------------------------- */

struct child_ids {
	uid_t uid;
	gid_t gid;
	const char *cgroup; /* to join, or NULL */
};

static int join_cgroup(const char *cgroup)
{
	char path[UNITS_PATH_SIZE + UNITS_TEXT_SIZE + 64], pid[16];
	int length = snprintf(pid, sizeof(pid), "%d", getpid()), fd;
	int failed;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	failed = write(fd, pid, (size_t)length) == length ? 0 : -errno;
	close(fd);
	return failed;
}

static int become(void *context)
{
	const struct child_ids *ids = context;
	struct diag diag = {0};
	int error = ids->cgroup ? join_cgroup(ids->cgroup) : 0;

	if (error)
		return error;
	if (setgroups(0, NULL) != 0 || setresgid(ids->gid, ids->gid, ids->gid) != 0 ||
	    setresuid(ids->uid, ids->uid, ids->uid) != 0)
		return -errno;
	return sandbox_drop_privileges(&diag) ? -EPERM : 0;
}

static int start_child(struct session *session, int position, struct child_ids *ids,
		       struct diag *diag)
{
	static const char *const arguments[] = {"net-agent", NULL};
	struct agent *agent = &session->agents[position];
	const struct spawn_spec spec = {.program_fd = session->runner_fd,
					.arguments = arguments,
					.prepare = become,
					.context = ids};
	int error = spawn_start(&spec, position_names[position], &agent->child, diag);

	if (!error)
		error = process_open(agent->child.pid, &agent->process, diag);
	if (error)
		return error;
	return admit(session, agent, take_fd(&agent->child.input),
		     take_fd(&agent->child.output), diag);
}

int positions_start_control(struct session *session, struct diag *diag)
{
	struct child_ids ids = {0, 0, NULL};

	return start_child(session, POSITION_CONTROL, &ids, diag);
}

int positions_start_subordinate(struct session *session, struct diag *diag)
{
	struct child_ids ids = {
		.gid = session->gid,
		.cgroup = session->agents[POSITION_DAEMON].measured.cgroup,
	};
	uint32_t uid;

	if (!positions_subordinate_id(session, 1, &uid))
		return diag_refuse(diag, "subordinate ids", "the workload user has none");
	ids.uid = uid;
	return start_child(session, POSITION_DAEMON_SUBORDINATE, &ids, diag);
}

/* --- services --------------------------------------------------------------------- */

int positions_find_worker(struct session *session, struct diag *diag)
{
	static const struct agentsocket_peer root = {0, 0, 0};
	struct agent *agent = &session->agents[POSITION_WORKER];
	OWN(own_fd) int folder_fd = -1;
	OWN(own_fd) int fd = -1;
	struct unit_view view;
	int error = units_read(&session->units, session->site.worker_unit, &view, diag);

	if (error)
		return error;
	if (!view.main_pid)
		return diag_refuse(diag, session->site.worker_unit,
				   "has no main process (%s, %s)", view.active_state,
				   view.result);
	error = process_open(view.main_pid, &agent->process, diag);
	if (error)
		return error;
	folder_fd = open(session->layout.agent_dir,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder_fd < 0)
		return diag_fail(diag, errno, session->layout.agent_dir,
				 "cannot be opened");
	error = agentsocket_connect(&session->wait, folder_fd,
				    strrchr(session->layout.agent_socket, '/') + 1, &root,
				    clock_boot_ms() + ADMIT_MS, &fd, diag);
	if (!error)
		error = process_check_peer(&agent->process, fd, diag);
	if (error) {
		diag_prefix(diag, "worker agent");
		return error;
	}
	return admit_socket(session, agent, &fd, diag);
}

void positions_forget_worker(struct session *session)
{
	struct agent *agent = &session->agents[POSITION_WORKER];

	agentlink_close(&agent->link);
	process_close(&agent->process);
	own_fd(&agent->net_fd);
	agent->is_there = false;
}

/* The folder that the daemon agent's socket lies in: the workload user's alone. */
static int make_daemon_folder(struct session *session, char *ret_path, size_t size,
			      int *ret_fd, struct diag *diag)
{
	int error, fd;

	snprintf(ret_path, size, "/run/%s-daemon-agent-%s", session->site.name,
		 session->run);
	error = journal_note(&session->journal, JOURNAL_FOLDER, ret_path, diag);
	if (error)
		return error;
	if (mkdir(ret_path, 0700) != 0)
		return diag_fail(diag, errno, ret_path, "cannot be made");
	fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, session->uid, session->gid) != 0) {
		error = diag_fail(diag, errno, ret_path, "cannot be handed over");
		own_fd(&fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

/* The one process of the daemon agent's unit. */
static int find_daemon(struct session *session, struct agent *agent, struct diag *diag)
{
	char daemon[SITE_CGROUP_SIZE], cgroup[UNITS_PATH_SIZE + UNITS_TEXT_SIZE];
	pid_t pids[CGROUP_PIDS_MAX];
	size_t count;
	int error;

	site_daemon_cgroup(session->uid, daemon);
	snprintf(cgroup, sizeof(cgroup), "%s/app.slice/%s", daemon, agent->unit);
	error = units_cgroup_pids(cgroup, pids, CGROUP_PIDS_MAX, &count, diag);
	if (error)
		return error;
	if (count != 1)
		return diag_refuse(diag, agent->unit, "has %zu processes, not 1", count);
	return process_open(pids[0], &agent->process, diag);
}

int positions_start_daemon(struct session *session, struct diag *diag)
{
	static const struct agentsocket_peer root = {0, 0, 0};
	struct agent *agent = &session->agents[POSITION_DAEMON];
	OWN(own_fd) int folder_fd = -1;
	OWN(own_fd) int fd = -1;
	OWN(own_bytes) struct bytes output = {0};
	char folder[256], path[300], unit[UNITS_TEXT_SIZE + 16];
	int error = make_daemon_folder(session, folder, sizeof(folder), &folder_fd, diag);

	if (error)
		return error;
	snprintf(agent->unit, sizeof(agent->unit), "%s-daemon-agent-%s.service",
		 session->site.name, session->run);
	snprintf(unit, sizeof(unit), "--unit=%s", agent->unit);
	snprintf(path, sizeof(path), "%s/" DAEMON_SOCKET, folder);
	error = journal_note(&session->journal, JOURNAL_USER_UNIT, agent->unit, diag);
	if (!error)
		error = engine_run_as_user(
			&session->engine, "/usr/bin/systemd-run",
			(const char *[]){"systemd-run", "--user", "--quiet", "--collect",
					 "--service-type=exec", unit, "--slice=app.slice",
					 session->layout.probe, "net-agent", "--unix",
					 path, NULL},
			START_MS, &output, diag);
	if (!error)
		error = find_daemon(session, agent, diag);
	if (!error)
		error = agentsocket_connect(&session->wait, folder_fd, DAEMON_SOCKET,
					    &root, clock_boot_ms() + ADMIT_MS, &fd, diag);
	if (!error)
		error = process_check_peer(&agent->process, fd, diag);
	if (error) {
		diag_prefix(diag, "daemon agent");
		return error;
	}
	return admit_socket(session, agent, &fd, diag);
}

/* --- containers ------------------------------------------------------------------- */

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
		{strcmp(container->ipc_mode, "none") != 0 || container->pid_mode[0] ||
			 container->userns_mode[0],
		 "shares a namespace"},
		/* An engine without the controllers discards a limit, and says so. */
		{(session->engine_info.has_pids_limit && !container->pids_limit) ||
			 (session->engine_info.has_memory_limit && !container->memory),
		 "is not bounded"},
		{container->devices || container->ports,
		 "has devices or published ports"},
		{!container->has_init || container->restart_count, "was restarted, or "
								   "has no init"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].is_wrong)
			return diag_refuse(diag, agent->name, "%s", rules[i].what);
	return 0;
}

/* The one process below the container's init. */
static int find_agent(struct session *session, struct agent *agent, pid_t init,
		      struct diag *diag)
{
	OWN(process_close) struct process parent = PROCESS_INIT;
	int64_t deadline = clock_boot_ms() + ADMIT_MS;
	pid_t children[CHILDREN_MAX];
	size_t count = 0;
	int error = process_open(init, &parent, diag);

	/* The engine says "started" when the init is; its child comes a moment
	 * later, and no event tells of it. */
	while (!error && !count) {
		error = process_children(&parent, children, CHILDREN_MAX, &count, diag);
		if (!error && !count) {
			if (clock_boot_ms() >= deadline)
				return diag_refuse(diag, agent->name, "runs no agent");
			error = wait_until(&session->wait, clock_boot_ms() + 5, diag);
		}
	}
	if (error)
		return error;
	if (count != 1)
		return diag_refuse(diag, agent->name, "has %zu processes below its init",
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
		error = expected_ids(session, position, &peer.file_uid, &peer.gid, diag);
	if (!error)
		error = agentsocket_open_folder(&agent->process, CONTAINER_FOLDER,
						&folder_fd, diag);
	if (!error)
		error = agentsocket_connect(&session->wait, folder_fd, CONTAINER_SOCKET,
					    &peer, clock_boot_ms() + ADMIT_MS, &fd, diag);
	if (!error)
		error = process_check_peer(&agent->process, fd, diag);
	if (error) {
		diag_prefix(diag, position_names[position]);
		return error;
	}
	strcpy(agent->address, container->networks[0].address);
	strcpy(agent->gateway, container->networks[0].gateway);
	return admit_socket(session, agent, &fd, diag);
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

/* --- at a phase's end ------------------------------------------------------------- */

static int measure_again(struct session *session, struct agent *agent, struct diag *diag)
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

int positions_add(struct record_phase *phase, const struct record_agent *entry,
		  struct diag *diag)
{
	size_t i = phase->agent_count;

	if (i == RECORD_AGENTS_MAX)
		return diag_fail(diag, ENOSPC, "record", "too many agents");
	for (; i && phase->agents[i - 1].position > entry->position; i--)
		phase->agents[i] = phase->agents[i - 1];
	phase->agents[i] = *entry;
	phase->agent_count++;
	return 0;
}

int positions_finish_phase(struct session *session, struct record_phase *phase,
			   struct diag *diag)
{
	for (int i = 0; i < POSITION_COUNT; i++) {
		struct agent *agent = &session->agents[i];
		int error;

		if (!agent->is_there)
			continue;
		error = measure_again(session, agent, diag);
		if (!error)
			error = positions_add(phase, &agent->entry, diag);
		if (error)
			return error;
	}
	return 0;
}
