// SPDX-License-Identifier: GPL-2.0-or-later
// The agents: started where SPEC 7.3 wants them, measured, measured again.
#include "collector/positions.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/admission.h"
#include "collector/agentsocket.h"
#include "common/clock.h"
#include "common/sandbox.h"

enum {
	START_MS = 20000,
	CGROUP_PIDS_MAX = 8,
};

#define DAEMON_SOCKET "daemon.sock"

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
	return admission_admit(session, agent, take_fd(&agent->child.input),
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

	if (!admission_subordinate_id(session, 1, &uid))
		return diag_refuse(
			diag, "subordinate ids",
			"the workload user has none; give it 65536 with usermod(8)");
	ids.uid = uid;
	return start_child(session, POSITION_DAEMON_SUBORDINATE, &ids, diag);
}

/* --- services --------------------------------------------------------------------- */

/* Whatever else is in the worker's cgroup has the worker's window, and so has what is in
 * one below it. */
static int check_alone(struct session *session, struct diag *diag)
{
	const struct agent *agent = &session->agents[POSITION_WORKER];
	const char *unit = session->site.worker_unit;
	char cgroup[SITE_CGROUP_SIZE];
	pid_t pids[CGROUP_PIDS_MAX];
	size_t count;
	int error;

	site_worker_cgroup(&session->site, cgroup);
	error = units_count_below(cgroup, &count, diag);
	if (!error && count)
		return diag_refuse(diag, unit,
				   "there is a cgroup below the worker's, for which its "
				   "window is open, too; remove it");
	if (!error)
		error = units_cgroup_pids(cgroup, pids, CGROUP_PIDS_MAX, &count, diag);
	if (error)
		return error;
	for (size_t i = 0; i < count && i < CGROUP_PIDS_MAX; i++)
		if (pids[i] != agent->process.pid)
			return diag_refuse(
				diag, unit,
				"its cgroup has a process that is not the agent "
				"(%d), for which the window is open, too; end it",
				pids[i]);
	return 0;
}

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
				   "has no main process (%s, %s); see 'journalctl -u %s'",
				   view.active_state, view.result,
				   session->site.worker_unit);
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
				    clock_boot_ms() + ADMISSION_MS, &fd, diag);
	if (!error)
		error = process_check_peer(&agent->process, fd, diag);
	if (error) {
		diag_prefix(diag, "worker agent");
		return error;
	}
	error = admission_admit_socket(session, agent, &fd, diag);
	return error ? error : check_alone(session, diag);
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
	if (!count)
		return diag_refuse(diag, agent->unit,
				   "ended as soon as it was started; see 'journalctl "
				   "--user' as the workload user");
	if (count > 1)
		return diag_refuse(diag, agent->unit,
				   "has %zu processes, not 1; find what joined it",
				   count);
	return process_open(pids[0], &agent->process, diag);
}

int positions_start_daemon(struct session *session, struct diag *diag)
{
	static const struct agentsocket_peer root = {0, 0, 0};
	struct agent *agent = &session->agents[POSITION_DAEMON];
	OWN(own_fd) int folder_fd = -1;
	OWN(own_fd) int fd = -1;
	char folder[256], path[300], unit[UNITS_TEXT_SIZE + 16];
	int error = make_daemon_folder(session, folder, sizeof(folder), &folder_fd, diag);

	if (error)
		return error;
	snprintf(agent->unit, sizeof(agent->unit), "%s-daemon-agent-%s.service",
		 session->site.name, session->run);
	snprintf(unit, sizeof(unit), "--unit=%s", agent->unit);
	snprintf(path, sizeof(path), "%s/" DAEMON_SOCKET, folder);
	error = journal_note(&session->journal, JOURNAL_USER_UNIT, agent->unit, diag);
	if (error)
		return error;
	session_step(session, "daemon agent's folder made");
	error = engine_start_user_unit(
		&session->engine,
		(const char *[]){"systemd-run", "--user", "--collect",
				 "--service-type=exec", "--property=TimeoutStopSec=5",
				 unit, "--slice=app.slice", session->layout.probe,
				 "net-agent", "--unix", path, NULL},
		START_MS, diag);
	if (!error) {
		session_step(session, "daemon agent started");
		error = find_daemon(session, agent, diag);
	}
	if (!error)
		error = agentsocket_connect(&session->wait, folder_fd, DAEMON_SOCKET,
					    &root, clock_boot_ms() + ADMISSION_MS, &fd,
					    diag);
	if (!error)
		error = process_check_peer(&agent->process, fd, diag);
	if (error) {
		diag_prefix(diag, "daemon agent");
		return error;
	}
	return admission_admit_socket(session, agent, &fd, diag);
}

/* --- at a phase's end ------------------------------------------------------------- */

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
		error = admission_measure_again(session, agent, diag);
		if (!error && agent->name[0])
			error = positions_check_container(session, agent, diag);
		if (!error && i == POSITION_WORKER)
			error = check_alone(session, diag);
		if (!error)
			error = positions_add(phase, &agent->entry, diag);
		if (error)
			return error;
	}
	return 0;
}
