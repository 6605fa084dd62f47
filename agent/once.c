// SPDX-License-Identifier: GPL-2.0-or-later
// net-once: a fixed plan, once, with a report.
//
// Theory of operation
//
// Plan, gate and report are opened before the confinement and read and written behind
// it. So the report's file exists, empty, from the start: whoever measures this process
// finds its inode before the gate opens, and reads the report through the descriptor.
// The gate is a FIFO: one byte '1' opens it, a second one, after the report, lets this
// process go. A wait ends when its writer goes away or two minutes pass, so a collector
// that died holds nothing up.
//
// syscalls: poll read write fsync newfstatat unlinkat, and those of attempt.c
#include "agent/once.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/confine.h"
#include "agent/made_path.h"
#include "agent/plan.h"
#include "agent/queue.h"
#include "common/clock.h"
#include "common/own.h"
#include "common/protected.h"

#define GATE_WAIT_MS 120000
#define EVENTS_MAX 80

struct once {
	const char *plan_path, *report_path, *gate_path;
	int plan_fd, gate_fd, report_fd;
	struct made_path report;
	struct agent *agent;
};

static int open_plan(struct once *once, struct diag *diag)
{
	struct stat status;

	/* Not blocking: a FIFO in its place must not hold us. */
	once->plan_fd = open(once->plan_path,
			     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (once->plan_fd < 0 && errno == ENOENT)
		return 0;
	if (once->plan_fd < 0)
		return diag_refuse(diag, once->plan_path, "%s",
				   errno == ELOOP ? "a symbolic link" : strerror(errno));
	if (fstat(once->plan_fd, &status) != 0)
		return diag_fail(diag, errno, once->plan_path, "cannot be examined");
	if (!S_ISREG(status.st_mode))
		return diag_refuse(diag, once->plan_path, "not a regular file");
	if (status.st_uid != 0 && status.st_uid != geteuid())
		return diag_refuse(diag, once->plan_path,
				   "owned by uid %u, not by root or the running user",
				   status.st_uid);
	if (status.st_mode & (S_IWGRP | S_IWOTH))
		return diag_refuse(diag, once->plan_path,
				   "writable by group or others (mode %04o)",
				   status.st_mode & 07777);
	return 0;
}

static int open_gate(struct once *once, struct diag *diag)
{
	struct stat status;

	once->gate_fd =
		open(once->gate_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (once->gate_fd < 0)
		return diag_refuse(diag, once->gate_path, "%s", strerror(errno));
	if (fstat(once->gate_fd, &status) != 0)
		return diag_fail(diag, errno, once->gate_path, "cannot be examined");
	if (!S_ISFIFO(status.st_mode))
		return diag_refuse(diag, once->gate_path, "not a FIFO");
	return 0;
}

static int open_report(struct once *once, struct diag *diag)
{
	struct made_path *report = &once->report;
	int error = made_path_open(once->report_path, report, diag);
	mode_t mask;

	if (error)
		return error;
	mask = umask(0);
	once->report_fd = openat(report->directory_fd, report->name,
				 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	umask(mask);
	if (once->report_fd < 0)
		return diag_refuse(diag, once->report_path, "%s",
				   errno == EEXIST ? "already exists" : strerror(errno));
	return made_path_remember(report, diag);
}

static int stopped(struct diag *diag)
{
	return diag_fail(diag, EINTR, NULL, "stopped by a signal");
}

/* Waits for `events` of one descriptor (-1: for the time alone) or a signal. Returns
 * what poll() found on it; 0: the time is over; -errno. */
static int wait_for(const struct once *once, int fd, int64_t until_us, struct diag *diag)
{
	struct pollfd waits[] = {{.fd = fd, .events = POLLIN},
				 {.fd = once->agent->signal_fd, .events = POLLIN}};

	for (;;) {
		int64_t left_us = until_us - clock_monotonic_us();
		int count = poll(waits, ARRAY_SIZE(waits),
				 left_us > 0 ? (int)((left_us + 999) / 1000) : 0);

		if (count < 0 && errno != EINTR)
			return diag_fail(diag, errno, NULL, "poll");
		if (count > 0 && waits[1].revents)
			return stopped(diag);
		if (count > 0)
			return waits[0].revents;
		if (count == 0 && left_us <= 0)
			return 0;
	}
}

static int pass_gate(const struct once *once, struct diag *diag)
{
	int64_t until_us = clock_monotonic_us() + (int64_t)GATE_WAIT_MS * 1000;
	char byte;
	ssize_t got;
	int found;

	do {
		found = wait_for(once, once->gate_fd, until_us, diag);
		if (found < 0)
			return found;
		if (found == 0)
			return diag_fail(diag, 0, once->gate_path,
					 "not opened within %d seconds",
					 GATE_WAIT_MS / 1000);
		got = read(once->gate_fd, &byte, 1);
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	if (got < 0)
		return diag_fail(diag, errno, once->gate_path, "cannot be read");
	if (got == 0)
		return diag_fail(diag, 0, once->gate_path,
				 "its writer went away without opening it");
	if (byte != '1')
		return diag_refuse(diag, once->gate_path, "something else than '1'");
	return 0;
}

static int run_queue(struct queue *queue, struct report *report, struct diag *diag)
{
	const struct answer *answer;

	for (;;) {
		struct epoll_event events[EVENTS_MAX];
		int count;

		queue_end_overdue(queue);
		while ((answer = queue_next_answer(queue))) {
			report->responses[report->response_count++] = *answer;
			queue_pop(queue);
		}
		if (queue->count == 0)
			return 0;
		count = epoll_wait(queue->agent->epoll_fd, events, EVENTS_MAX,
				   queue_timeout_ms(queue));
		if (count < 0 && errno != EINTR)
			return diag_fail(diag, errno, NULL, "epoll_wait");
		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == AGENT_EVENT_SIGNAL)
				return stopped(diag);
			queue_dispatch(queue, events[i].data.u64);
		}
	}
}

static int run_plan(const struct once *once, const struct plan *plan,
		    struct report *report, struct diag *diag)
{
	static struct queue queue; /* too large for the stack */
	int error;

	queue.agent = once->agent;
	report->identity = once->agent->identity;
	for (size_t i = 0; i < plan->request_count; i++) {
		error = queue_start(&queue, &plan->requests[i], diag);
		if (error)
			return error;
	}
	return run_queue(&queue, report, diag);
}

static int write_report(const struct once *once, const struct report *report,
			struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = json_table_write(&report_table, report, &bytes, diag);
	size_t put = 0;

	while (!error && put < bytes.size) {
		ssize_t size = write(once->report_fd, bytes.data + put, bytes.size - put);

		if (size < 0 && errno != EINTR)
			error = diag_fail(diag, errno, once->report_path,
					  "cannot be written");
		else if (size > 0)
			put += (size_t)size;
	}
	/* Its error is final: a second call would report success for what was lost. */
	if (!error && fsync(once->report_fd) != 0)
		error = diag_fail(diag, errno, once->report_path, "cannot be synced");
	return error;
}

/* Everything behind the filter. */
static int run_confined(const struct once *once, struct diag *diag)
{
	static struct plan plan; /* too large for the stack, these two */
	static struct report report;
	OWN(own_bytes) struct bytes text = {0};
	int error = protected_read_fd(once->plan_fd, PLAN_SIZE_MAX, once->plan_path,
				      &text, diag);

	if (!error)
		error = plan_decode(text.data, text.size, once->plan_path, &plan, diag);
	if (!error && once->gate_path)
		error = pass_gate(once, diag);
	if (!error)
		error = run_plan(once, &plan, &report, diag);
	if (!error)
		error = write_report(once, &report, diag);
	if (error)
		return error;
	/* So that it can be read through this process, which was measured, by however
	 * busy a collector: until its second byte, or until it goes away. Whatever ends
	 * this wait, the report is written and stands. */
	if (once->gate_path)
		pass_gate(once, &(struct diag){0});
	return 0;
}

static int check_paths(const struct once *once, struct diag *diag)
{
	const char *paths[] = {once->plan_path, once->report_path, once->gate_path};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (paths[i] && (!json_is_clean_path(paths[i]) || !paths[i][1]))
			return diag_usage(diag, paths[i], "not a clean absolute path");
	return 0;
}

static int open_and_run(struct once *once, struct diag *diag)
{
	struct confine_wishes wishes = {.role = CONFINE_ONCE};
	int error = check_paths(once, diag);

	if (!error)
		error = agent_open(once->agent, diag);
	if (!error)
		error = open_plan(once, diag);
	if (error || once->plan_fd < 0)
		return error;
	if (once->gate_path)
		error = open_gate(once, diag);
	if (!error)
		error = open_report(once, diag);
	if (error)
		return error;
	wishes.remove_directory_fd = once->report.directory_fd;
	wishes.output_fd = once->report_fd;
	error = confine(&wishes, once->agent, diag);
	return error ? error : run_confined(once, diag);
}

int once_run(const char *plan_path, const char *report_path, const char *gate_path,
	     struct diag *diag)
{
	static struct agent agent; /* too large for the stack */
	struct once once = {
		.plan_path = plan_path,
		.report_path = report_path,
		.gate_path = gate_path,
		.plan_fd = -1,
		.gate_fd = -1,
		.report_fd = -1,
		.report = {.directory_fd = -1},
		.agent = &agent,
	};
	int error = open_and_run(&once, diag);

	if (error)
		made_path_remove(&once.report);
	made_path_close(&once.report);
	own_fd(&once.report_fd);
	own_fd(&once.gate_fd);
	own_fd(&once.plan_fd);
	agent_close(&agent);
	return error;
}
