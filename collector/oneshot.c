// SPDX-License-Identifier: GPL-2.0-or-later
// net-once in the worker's cgroup, as the unit's last ExecStopPost runs it.
#include "collector/oneshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "collector/admission.h"
#include "collector/formats.h"
#include "collector/measure.h"
#include "collector/once.h"
#include "collector/positions.h"
#include "common/clock.h"
#include "common/protected.h"

enum {
	GATE_MS = 30000,   /* until it stands at the gate */
	CONFINE_MS = 5000, /* from there until it is confined */
	CONFINE_STEP_MS = 2,
	REPORT_EXTRA_MS = 5000,
};

/* --- plan and gate ---------------------------------------------------------------- */

int oneshot_remove_files(const struct session *session, struct diag *diag)
{
	const char *const paths[] = {session->layout.plan, session->layout.gate};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (unlink(paths[i]) != 0 && errno != ENOENT)
			return diag_fail(diag, errno, paths[i], "cannot be removed");
	return 0;
}

/* A file of root's that the worker's group may read. */
static int hand_over(const struct session *session, int fd, const char *path,
		     struct diag *diag)
{
	if (fchown(fd, 0, session->worker_gid) != 0 || fchmod(fd, 0640) != 0)
		return diag_fail(diag, errno, path, "cannot be handed over");
	return 0;
}

static int write_plan(struct session *session, struct diag *diag)
{
	OWN(own_bytes) struct bytes plan = {0};
	OWN(own_fd) int fd = -1;
	struct endpoint endpoints[PROFILE_TCP_MAX];
	const char *path = session->layout.plan;
	int error;

	for (size_t i = 0; i < session->profile.trusted_tcp_count; i++)
		endpoints[i] = session_trusted(session, i);
	error = once_write_plan(endpoints, session->profile.trusted_tcp_count,
				session->targets.timeouts.connect_ms, &plan, diag);
	if (!error)
		error = journal_note(&session->journal, JOURNAL_FILE, path, diag);
	if (error)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return diag_fail(diag, errno, path, "cannot be made");
	if (write(fd, plan.data, plan.size) != (ssize_t)plan.size)
		return diag_fail(diag, errno, path, "cannot be written");
	return hand_over(session, fd, path, diag);
}

static int make_gate(struct oneshot *oneshot, struct diag *diag)
{
	struct session *session = oneshot->session;
	const char *path = session->layout.gate;
	int error = journal_note(&session->journal, JOURNAL_FILE, path, diag);

	if (error)
		return error;
	if (mkfifo(path, 0600) != 0)
		return diag_fail(diag, errno, path, "cannot be made");
	/* Both ways: opening it must not wait for the other side. */
	oneshot->gate_fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (oneshot->gate_fd < 0)
		return diag_fail(diag, errno, path, "cannot be opened");
	error = hand_over(session, oneshot->gate_fd, path, diag);
	if (error)
		return error;
	oneshot->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (oneshot->watch_fd < 0 ||
	    inotify_add_watch(oneshot->watch_fd, path, IN_OPEN) < 0)
		return diag_fail(diag, errno, path, "cannot be watched");
	return 0;
}

int oneshot_prepare(struct probe_set *set, struct oneshot *ret_oneshot, struct diag *diag)
{
	int error;

	*ret_oneshot = (struct oneshot)ONESHOT_INIT;
	ret_oneshot->session = set->session;
	ret_oneshot->set = set;
	error = oneshot_remove_files(set->session, diag);
	if (!error)
		error = write_plan(set->session, diag);
	if (!error)
		error = make_gate(ret_oneshot, diag);
	return error;
}

void oneshot_close(struct oneshot *oneshot)
{
	process_close(&oneshot->process);
	own_fd(&oneshot->gate_fd);
	own_fd(&oneshot->watch_fd);
}

/* --- at the gate ------------------------------------------------------------------ */

static int await_event(struct session *session, int watch_fd, int64_t deadline,
		       struct diag *diag)
{
	struct pollfd polled = {.fd = watch_fd, .events = POLLIN};
	char events[4096];
	int ready = wait_poll(&session->wait, &polled, 1, deadline, diag);

	if (ready > 0 && read(watch_fd, events, sizeof(events)) < 0 && errno != EAGAIN)
		return diag_fail(diag, errno, "net-once", "cannot be watched");
	return ready;
}

/* It opens everything, then confines itself, and no event tells of that. */
static int await_confinement(struct oneshot *oneshot, struct diag *diag)
{
	struct session *session = oneshot->session;
	int64_t deadline = clock_boot_ms() + CONFINE_MS;

	for (;;) {
		struct diag why = {0};
		int error = process_measure(&oneshot->process, &oneshot->measured, diag);

		if (error)
			return error;
		if (process_check_agent(&oneshot->process, &oneshot->measured,
					session->runner_sha256, &why) == 0)
			return 0;
		/* Another program will not become the right one by waiting. */
		if (strcmp(oneshot->measured.exe_sha256, session->runner_sha256) != 0 ||
		    clock_boot_ms() >= deadline)
			return diag_refuse(diag, why.place, "%s", why.text);
		error = wait_until(&session->wait, clock_boot_ms() + CONFINE_STEP_MS,
				   diag);
		if (error)
			return error;
	}
}

static int measure_at_gate(struct oneshot *oneshot, struct diag *diag)
{
	struct session *session = oneshot->session;
	struct unit_view view;
	int error = units_read(&session->units, session->site.worker_unit, &view, diag);

	if (!error && !view.control_pid)
		error = diag_refuse(diag, session->layout.gate,
				    "was opened by a process that is not the unit's; "
				    "find what else opens it");
	if (!error)
		error = process_open(view.control_pid, &oneshot->process, diag);
	if (!error)
		error = await_confinement(oneshot, diag);
	if (!error)
		error = admission_check_place(session, POSITION_WORKER,
					      &oneshot->measured, diag);
	return error;
}

/* Until somebody opens the gate, or the unit's job ends without it. Returns 1 or 0. */
static int await_gate(struct oneshot *oneshot, struct diag *diag)
{
	struct session *session = oneshot->session;
	int64_t deadline = clock_boot_ms() + GATE_MS;
	char events[4096];

	for (;;) {
		struct pollfd polled[] = {
			{.fd = oneshot->watch_fd, .events = POLLIN},
			{.fd = units_fd(&session->units), .events = POLLIN},
		};
		bool is_ended;
		int error = units_dispatch(&session->units, &is_ended, diag), ready;

		if (error)
			return error;
		if (read(oneshot->watch_fd, events, sizeof(events)) > 0)
			return 1;
		if (is_ended)
			return 0;
		ready = wait_poll(&session->wait, polled, ARRAY_SIZE(polled), deadline,
				  diag);
		if (ready <= 0)
			return ready;
	}
}

int oneshot_await(struct oneshot *oneshot, struct diag *diag)
{
	struct record_agent *entry = &oneshot->entry;
	int ready = await_gate(oneshot, diag);
	int error;

	if (ready < 0)
		return ready;
	if (ready == 0)
		return diag_refuse(
			diag, oneshot->session->site.worker_unit,
			"its ExecStopPost has not run net-once; see 'journalctl -u %s'",
			oneshot->session->site.worker_unit);
	error = measure_at_gate(oneshot, diag);
	if (error) {
		diag_prefix(diag, "net-once");
		return error;
	}
	*entry = (struct record_agent){
		.position = POSITION_WORKER,
		.program = AGENT_PROGRAM_NET_ONCE,
		.pid = oneshot->process.pid,
		.uid = oneshot->measured.uid,
		.gid = oneshot->measured.gid,
		.no_new_privs = oneshot->measured.no_new_privs,
		.seccomp = oneshot->measured.seccomp,
		.capabilities = oneshot->measured.capabilities,
	};
	strcpy(entry->before_sha256, oneshot->measured.exe_sha256);
	strcpy(entry->cgroup, oneshot->measured.cgroup);
	session_step(oneshot->session, "net-once measured");
	return 0;
}

/* --- the report ------------------------------------------------------------------- */

/* Its own descriptor of the report: the one regular file it has open for writing. */
static int open_report(struct oneshot *oneshot, int *ret_fd, struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	OWN(own_fd) int found = -1;
	const struct dirent *entry;
	int fd = openat(oneshot->process.directory, "fd",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory)
		return diag_fail(diag, errno, "net-once", "its files cannot be listed");
	while (errno = 0, (entry = readdir(directory))) {
		struct stat link, file;

		/* The link's own mode tells how it is open: proc(5). */
		if (fstatat(dirfd(directory), entry->d_name, &link,
			    AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISLNK(link.st_mode) || !(link.st_mode & S_IWUSR) ||
		    fstatat(dirfd(directory), entry->d_name, &file, 0) != 0 ||
		    !S_ISREG(file.st_mode))
			continue;
		if (found >= 0)
			return diag_refuse(diag, "net-once",
					   "has several files open for "
					   "writing" MEASURE_HINT_IMPOSTOR);
		found = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
		if (found < 0)
			return diag_fail(diag, errno, "net-once",
					 "its report cannot be opened");
	}
	if (errno)
		return diag_fail(diag, errno, "net-once", "its files cannot be listed");
	if (found < 0)
		return diag_refuse(diag, "net-once",
				   "has no report open" MEASURE_HINT_IMPOSTOR);
	*ret_fd = take_fd(&found);
	return 0;
}

static int read_report(struct oneshot *oneshot, int report_fd, struct once_report *report,
		       struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error;

	if (lseek(report_fd, 0, SEEK_SET) != 0)
		return diag_fail(diag, errno, "net-once", "its report cannot be read");
	error = protected_read_fd(report_fd, ONCE_REPORT_LIMIT, "report", &bytes, diag);
	if (error)
		return error;
	while (bytes.size && bytes.data[bytes.size - 1] == '\n')
		bytes.size--;
	return decoder_parse(&oneshot->session->decoder, FORMAT_REPORT, bytes.data,
			     bytes.size, "report", report, diag);
}

static int await_report(struct oneshot *oneshot, int report_fd, int watch_fd,
			struct once_report *report, struct diag *diag)
{
	int64_t deadline = clock_boot_ms() +
			   oneshot->session->targets.timeouts.connect_ms +
			   REPORT_EXTRA_MS;

	for (;;) {
		struct diag why = {0};
		int ready = await_event(oneshot->session, watch_fd, deadline, diag);

		if (ready < 0)
			return ready;
		if (read_report(oneshot, report_fd, report, &why) == 0)
			return 0;
		if (why.kind == DIAG_UNDECIDED || ready == 0) {
			*diag = why;
			return why.kind == DIAG_UNDECIDED ? -EIO : -EINVAL;
		}
		if (!process_is_alive(&oneshot->process))
			return diag_refuse(diag, "net-once",
					   "ended before its report was read; see "
					   "'journalctl -u %s'",
					   oneshot->session->site.worker_unit);
	}
}

static int check_report(const struct oneshot *oneshot, const struct once_report *report,
			size_t count, struct diag *diag)
{
	const struct measurement *measured = &oneshot->measured;

	if (report->pid != measured->inner_pid || report->uid != measured->uid ||
	    report->gid != measured->gid ||
	    strcmp(report->probe_runner_sha256, measured->exe_sha256) != 0)
		return diag_refuse(diag, "net-once",
				   "says of itself what measuring it does not "
				   "show" MEASURE_HINT_IMPOSTOR);
	if (report->response_count != count)
		return diag_refuse(diag, "net-once",
				   "reports %zu answers, not %zu" MEASURE_HINT_IMPOSTOR,
				   report->response_count, count);
	for (size_t i = 0; i < count; i++) {
		const struct agent_answer *answer = &report->responses[i];

		if (!answer->has_op || answer->op != AGENT_CONNECT ||
		    !answer->has_outcome || answer->has_error)
			return diag_refuse(diag, "net-once",
					   "answer %zu is not that of a "
					   "connect" MEASURE_HINT_IMPOSTOR,
					   i + 1);
	}
	return 0;
}

static int open_gate(struct oneshot *oneshot, struct diag *diag)
{
	if (write(oneshot->gate_fd, "1", 1) != 1)
		return diag_fail(diag, errno, oneshot->session->layout.gate,
				 "cannot be opened");
	return 0;
}

static int measure_again(struct oneshot *oneshot, char ret_sha256[DIGEST_TEXT_SIZE],
			 struct diag *diag)
{
	struct measurement now;
	int error = process_measure(&oneshot->process, &now, diag);

	if (!error)
		error = measure_check_same(&oneshot->measured, &now, diag);
	if (!error)
		error = process_check_agent(&oneshot->process, &now,
					    oneshot->session->runner_sha256, diag);
	if (error) {
		diag_prefix(diag, "net-once");
		return error;
	}
	strcpy(ret_sha256, now.exe_sha256);
	return 0;
}

static int obtain_report(struct oneshot *oneshot, struct once_report *report,
			 size_t count, struct diag *diag)
{
	OWN(own_fd) int report_fd = -1;
	OWN(own_fd) int watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];
	int error = open_report(oneshot, &report_fd, diag);

	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", report_fd);
	if (watch_fd < 0 || inotify_add_watch(watch_fd, path, IN_MODIFY) < 0)
		return diag_fail(diag, errno, "net-once", "its report cannot be watched");
	session_step(oneshot->session, "net-once tries");
	error = open_gate(oneshot, diag);
	if (!error)
		error = await_report(oneshot, report_fd, watch_fd, report, diag);
	if (!error)
		error = check_report(oneshot, report, count, diag);
	if (!error)
		session_step(oneshot->session, "net-once has reported");
	return error;
}

int oneshot_run(struct oneshot *oneshot, struct probe *const *list, size_t count,
		struct record_phase *phase, struct diag *diag)
{
	OWN(own_pointer) struct once_report *report = calloc(1, sizeof(*report));
	int error;

	if (!report)
		return diag_no_memory(diag);
	session_step(oneshot->session, "controls before net-once");
	error = probes_run_controls(oneshot->set, list, count, false, diag);
	if (!error)
		error = obtain_report(oneshot, report, count, diag);
	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		probes_take_answer(list[i], &report->responses[i]);
	error = probes_run_controls(oneshot->set, list, count, true, diag);
	if (!error)
		error = measure_again(oneshot, oneshot->entry.after_sha256, diag);
	if (error)
		return error;
	/* It ends with the phase's stop: this is the phase's end for it. */
	strcpy(oneshot->entry.end_sha256, oneshot->entry.after_sha256);
	error = positions_add(phase, &oneshot->entry, diag);
	return error ? error : open_gate(oneshot, diag);
}
