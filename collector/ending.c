// SPDX-License-Identifier: GPL-2.0-or-later
// Taking everything back (SPEC 7.5), after a collection or from its journal.
#include "collector/ending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/hostview.h"
#include "collector/rules.h"
#include "common/clock.h"
#include "policy/kernel/compare.h"
#include "policy/kernel/guard.h"

enum {
	JOB_MS = 450000,
	HUNG_MS = 10000, /* what an agent that works needs for its end is far less */
	USER_JOB_MS = 30000,
	PIDS_MAX = 64,
};

/* --- one step each ---------------------------------------------------------------- */

/* An agent that hangs does not hear that it is to end, and its unit would wait for as
 * long as net-once may take. Ended here, it leaves the rest of the stop to the manager.
 */
static int end_hung(struct session *session, const char *unit, struct diag *diag)
{
	OWN(process_close) struct process main_process = PROCESS_INIT;
	struct pollfd polled = {.fd = units_fd(&session->units), .events = POLLIN};
	int64_t deadline = clock_boot_ms() + HUNG_MS;
	struct diag gone = {0};
	struct unit_view view;
	bool is_ended = false;
	int error = 0, ready = 1;

	while (ready > 0 && !error) {
		error = units_dispatch(&session->units, &is_ended, diag);
		if (error || is_ended)
			return error;
		ready = wait_poll(&session->wait, &polled, 1, deadline, diag);
	}
	if (error || ready < 0)
		return error ? error : ready;
	error = units_read(&session->units, unit, &view, diag);
	if (error || !view.main_pid)
		return error;
	/* Gone meanwhile: then the stop goes on by itself. */
	if (process_open(view.main_pid, &main_process, &gone))
		return 0;
	/* Read again: the process held is the one that is the unit's now. */
	error = units_read(&session->units, unit, &view, diag);
	if (!error && view.main_pid == main_process.pid &&
	    syscall(SYS_pidfd_send_signal, main_process.pidfd, SIGKILL, NULL, 0) != 0 &&
	    errno != ESRCH)
		error = diag_fail(diag, errno, unit, "its main process cannot be ended");
	return error;
}

static int stop_worker(struct session *session, const char *unit, struct diag *diag)
{
	char result[UNITS_TEXT_SIZE];
	int error = units_begin_job(&session->units, "StopUnit", unit, diag);

	if (!error)
		error = end_hung(session, unit, diag);
	if (!error)
		error = units_await_job(&session->units, clock_boot_ms() + JOB_MS, result,
					diag);
	if (error) {
		diag_prefix(diag, unit);
		return error;
	}
	if (strcmp(result, "done") != 0)
		error = diag_fail(diag, 0, unit, "its stop ended as '%s'", result);
	return error ? error : units_reset_failed(&session->units, unit, diag);
}

/* Gone already, or never started, is as good: --collect takes failed ones away. */
static int stop_user_unit(struct session *session, const char *unit, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	char cgroup[UNITS_PATH_SIZE + UNITS_TEXT_SIZE], daemon[SITE_CGROUP_SIZE];
	struct diag ignored = {0};
	pid_t pids[PIDS_MAX];
	size_t count;
	int error;

	engine_run_as_user(
		&session->engine, "/usr/bin/systemctl",
		(const char *[]){"systemctl", "--user", "--quiet", "stop", unit, NULL},
		USER_JOB_MS, &output, &ignored);
	site_daemon_cgroup(session->uid, daemon);
	snprintf(cgroup, sizeof(cgroup), "%s/app.slice/%s", daemon, unit);
	/* What counts is whether its processes are gone. */
	error = units_cgroup_pids(cgroup, pids, PIDS_MAX, &count, diag);
	if (!error && count)
		error = diag_fail(diag, 0, unit, "%zu processes stay", count);
	return error;
}

/* A folder of ours with files of whoever it was handed to: nothing is followed. */
static int remove_folder(const char *path, struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0
				       : diag_fail(diag, errno, path, "cannot be opened");
	directory = fdopendir(fd);
	if (!directory) {
		own_fd(&fd);
		return diag_no_memory(diag);
	}
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    unlinkat(dirfd(directory), entry->d_name, 0) != 0)
			return diag_fail(diag, errno, path, "cannot be emptied");
	return rmdir(path) == 0 ? 0 : diag_fail(diag, errno, path, "cannot be removed");
}

static int undo(struct session *session, const struct journal_entry *entry,
		struct diag *diag)
{
	switch ((enum journal_kind)entry->kind) {
	case JOURNAL_WORKER:
		return stop_worker(session, entry->name, diag);
	case JOURNAL_USER_UNIT:
		return stop_user_unit(session, entry->name, diag);
	case JOURNAL_CONTAINER:
		return engine_remove(&session->engine, entry->name, diag);
	case JOURNAL_NETWORK:
		return engine_remove_network(&session->engine, entry->name, diag);
	case JOURNAL_FOLDER:
		return remove_folder(entry->name, diag);
	case JOURNAL_FILE:
		return unlink(entry->name) == 0 || errno == ENOENT
			       ? 0
			       : diag_fail(diag, errno, entry->name, "cannot be removed");
	case JOURNAL_SITE:
	case JOURNAL_KIND_COUNT:
		break;
	}
	return 0;
}

/* The unit's own revoke has loaded it, or this does. */
static int restore_guard(struct session *session, struct diag *diag)
{
	OWN(comparison_release) struct comparison comparison = {0};
	struct diag ignored = {0};

	if (compare_guard(session->site.table, &session->subjects, &comparison,
			  &ignored) == 0 &&
	    comparison.is_equal)
		return 0;
	return guard_load(session->site.table, &session->subjects, diag);
}

static void keep_first(struct diag *first, const struct diag *next)
{
	if (!first->kind)
		*first = *next;
}

int ending_undo(struct session *session, struct diag *diag)
{
	struct journal *journal = &session->journal;
	bool is_worker_stopped = false;
	struct diag failure = {0};

	wait_shield(&session->wait);
	for (int i = 0; i < POSITION_COUNT; i++) {
		if (agentlink_is_open(&session->agents[i].link))
			agentlink_close(&session->agents[i].link);
		/* The user's manager could not end the one of another uid. */
		spawn_stop(&session->agents[i].child);
	}
	for (size_t i = journal->count; i-- > 0;) {
		const struct journal_entry *entry = &journal->entries[i];
		struct diag step = {0};

		if (entry->kind == JOURNAL_WORKER && is_worker_stopped)
			continue;
		is_worker_stopped |= entry->kind == JOURNAL_WORKER;
		if (undo(session, entry, &step))
			keep_first(&failure, &step);
	}
	if (restore_guard(session, diag))
		keep_first(&failure, diag);
	if (!failure.kind)
		return 0;
	*diag = failure;
	diag_prefix(diag, "ending");
	return -EIO;
}

/* --- what is left ----------------------------------------------------------------- */

static int count_processes(const struct session *session, int64_t *ret_count,
			   struct diag *diag)
{
	char worker[SITE_CGROUP_SIZE], daemon[SITE_CGROUP_SIZE],
		cgroup[UNITS_PATH_SIZE + UNITS_TEXT_SIZE];
	pid_t pids[PIDS_MAX];
	size_t count = 0;
	int error;

	site_worker_cgroup(&session->site, worker);
	error = units_cgroup_pids(worker, pids, PIDS_MAX, &count, diag);
	*ret_count = (int64_t)count;
	site_daemon_cgroup(session->uid, daemon);
	for (size_t i = 0; !error && i < session->journal.count; i++) {
		const struct journal_entry *entry = &session->journal.entries[i];

		if (entry->kind != JOURNAL_USER_UNIT)
			continue;
		snprintf(cgroup, sizeof(cgroup), "%s/app.slice/%.255s", daemon,
			 entry->name);
		error = units_cgroup_pids(cgroup, pids, PIDS_MAX, &count, diag);
		*ret_count += (int64_t)count;
	}
	return error;
}

static int count_files(const struct session *session, int64_t *ret_count,
		       struct diag *diag)
{
	*ret_count = 0;
	for (size_t i = 0; i < session->journal.count; i++) {
		const struct journal_entry *entry = &session->journal.entries[i];
		struct stat status;

		if (entry->kind != JOURNAL_FILE && entry->kind != JOURNAL_FOLDER)
			continue;
		if (lstat(entry->name, &status) == 0)
			(*ret_count)++;
		else if (errno != ENOENT)
			return diag_fail(diag, errno, entry->name, "cannot be seen");
	}
	return 0;
}

int ending_measure(struct session *session, struct record_residue *ret_residue,
		   struct diag *diag)
{
	OWN(own_pointer) struct engine_info *info = calloc(1, sizeof(*info));
	OWN(own_pointer) struct lines_names *list = calloc(1, sizeof(*list));
	struct record_residue residue = {.measured_at_unix = session_now()};
	struct record_comparison guard;
	struct unit_view view;
	struct host host;
	int error = info && list ? 0 : diag_no_memory(diag);

	if (!error)
		error = engine_list_containers(&session->engine, list, diag);
	if (!error) {
		residue.containers = (int64_t)list->count;
		error = engine_list_networks(&session->engine, list, diag);
	}
	if (!error) {
		residue.networks = (int64_t)list->count;
		error = count_processes(session, &residue.processes, diag);
	}
	if (!error)
		error = count_files(session, &residue.files, diag);
	if (!error)
		error = units_read(&session->units, session->site.worker_unit, &view,
				   diag);
	if (!error)
		/* Somebody else's rules are no residue of ours. */
		error = rules_compare(session, RULESET_DENY, COMPARISON_END, false,
				      &guard, diag);
	if (!error)
		error = engine_info(&session->engine, info, diag);
	if (!error)
		error = daemon_identity_digest(&info->identity, residue.daemon_sha256,
					       diag);
	if (!error)
		error = hostview_read(&host, diag);
	if (error)
		return error;
	snprintf(residue.worker_active_state, sizeof(residue.worker_active_state),
		 "%.31s", view.active_state);
	strcpy(residue.guard_ruleset_sha256, guard.ruleset_sha256);
	strcpy(residue.guard_kernel_sha256, guard.kernel_sha256);
	strcpy(residue.foreign_sha256, guard.foreign_sha256);
	strcpy(residue.boot_id, host.boot_id);
	*ret_residue = residue;
	return 0;
}

bool ending_is_clean(const struct session *session, const struct record_residue *residue)
{
	(void)session;
	return !residue->containers && !residue->networks && !residue->processes &&
	       !residue->files && strcmp(residue->worker_active_state, "inactive") == 0;
}

int ending_explain(const struct record_residue *residue, struct diag *diag)
{
	return diag_fail(diag, 0, "residue",
			 "%lld containers, %lld networks, %lld processes and %lld files "
			 "are left, the worker is %s; end and remove by hand what should "
			 "not be there",
			 (long long)residue->containers, (long long)residue->networks,
			 (long long)residue->processes, (long long)residue->files,
			 residue->worker_active_state);
}
