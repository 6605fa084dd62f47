/* SPDX-License-Identifier: GPL-2.0-or-later */
/* systemd's units over the bus: jobs and properties, awaited by signal. */
#ifndef COLLECTOR_UNITS_H
#define COLLECTOR_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/wait.h"
#include "common/diag.h"
#include "common/digest.h"
#include "policy/preflight.h"

/*
 * Theory of operation
 *
 * One connection to the system bus, subscribed to the manager's signals. A job is
 * started and its JobRemoved signal awaited; nothing is polled. A manager that
 * does not answer until the deadline is "could not tell".
 */

struct sd_bus;

struct units {
	struct sd_bus *bus;
	struct wait *wait;
	char job_path[128];  /* of the job awaited */
	char job_result[32]; /* "" while it runs */
};

#define UNITS_TEXT_SIZE 256
#define UNITS_PATH_SIZE 384

/* What a unit is doing. */
struct unit_view {
	char load_state[UNITS_TEXT_SIZE];
	char active_state[UNITS_TEXT_SIZE];
	char sub_state[UNITS_TEXT_SIZE];
	char result[UNITS_TEXT_SIZE]; /* "success", "exit-code" … */
	pid_t main_pid, control_pid;
	char cgroup[UNITS_PATH_SIZE]; /* without leading slash */
};

int units_open(struct wait *wait, struct units *ret_units, struct diag *diag);
void units_close(struct units *units);

int units_read(struct units *units, const char *name, struct unit_view *ret_view,
	       struct diag *diag);

/* The manager's version, as it says. */
int units_version(struct units *units, char ret_text[UNITS_TEXT_SIZE], struct diag *diag);

/* Starts ("StartUnit") or stops ("StopUnit") the unit and awaits the job's end;
 * `ret_result` is the job's: "done", "failed", "timeout" … */
int units_run_job(struct units *units, const char *method, const char *name,
		  int64_t deadline_ms, char ret_result[UNITS_TEXT_SIZE],
		  struct diag *diag);

/* The two halves of it. */
int units_begin_job(struct units *units, const char *method, const char *name,
		    struct diag *diag);
int units_await_job(struct units *units, int64_t deadline_ms,
		    char ret_result[UNITS_TEXT_SIZE], struct diag *diag);

/* The bus's descriptor, to be waited for beside others (POLLIN), and what to do when
 * it is readable: afterwards `*ret_is_ended` says whether the job begun has ended. */
int units_fd(const struct units *units);
int units_dispatch(struct units *units, bool *ret_is_ended, struct diag *diag);

/* Forgets a failure; a unit that is not loaded has none. */
int units_reset_failed(struct units *units, const char *name, struct diag *diag);

/* The pids in a cgroup (a path below the cgroup root), at most `max`. A cgroup
 * that is not there has none. */
int units_cgroup_pids(const char *cgroup, pid_t *ret_pids, size_t max, size_t *ret_count,
		      struct diag *diag);

/* How many cgroups are below it, at any depth; one that is not there has none. */
int units_count_below(const char *cgroup, size_t *ret_count, struct diag *diag);

#endif
