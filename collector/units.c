// SPDX-License-Identifier: GPL-2.0-or-later
// systemd's units over the bus: jobs and properties, awaited by signal.
#include "collector/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "collector/bus.h"
#include "common/clock.h"
#include "common/number.h"
#include "common/own.h"
#include "common/protected.h"

enum { PROCS_LIMIT = 1 << 16 };

static int on_job_removed(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct units *units = context;
	const char *path, *unit, *result;
	uint32_t id;

	(void)error;
	if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0)
		return 0;
	if (strcmp(path, units->job_path) == 0)
		snprintf(units->job_result, sizeof(units->job_result), "%s", result);
	return 0;
}

int units_open(struct wait *wait, struct units *ret_units, struct diag *diag)
{
	struct units units = {.wait = wait};
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = sd_bus_open_system(&units.bus);

	if (failed < 0)
		return diag_fail(diag, -failed, "systemd", "the bus cannot be reached");
	*ret_units = units;
	failed = bus_call(ret_units, BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE, "Subscribe",
			  NULL, &error, NULL);
	if (failed >= 0)
		failed = sd_bus_match_signal(units.bus, NULL, BUS_MANAGER,
					     BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE,
					     "JobRemoved", on_job_removed, ret_units);
	if (failed >= 0)
		return 0;
	bus_explain("systemd", "signals cannot be had", failed, &error, diag);
	units_close(ret_units);
	return failed;
}

void units_close(struct units *units)
{
	sd_bus_flush_close_unref(units->bus);
	units->bus = NULL;
}

static bool is_service(const char *name)
{
	size_t length = strlen(name), suffix = strlen(".service");

	return length > suffix && strcmp(name + length - suffix, ".service") == 0;
}

static int read_service(struct units *units, const char *path, struct unit_view *view,
			struct diag *diag)
{
	char cgroup[UNITS_PATH_SIZE] = "";
	uint32_t main_pid = 0, control_pid = 0;
	int error = bus_get_text(units, path, BUS_SERVICE_INTERFACE, "Result",
				 view->result, sizeof(view->result), diag);

	if (!error)
		error = bus_get_trivial(units, path, BUS_SERVICE_INTERFACE, "MainPID",
					'u', &main_pid, diag);
	if (!error)
		error = bus_get_trivial(units, path, BUS_SERVICE_INTERFACE, "ControlPID",
					'u', &control_pid, diag);
	if (!error)
		error = bus_get_text(units, path, BUS_SERVICE_INTERFACE, "ControlGroup",
				     cgroup, sizeof(cgroup), diag);
	if (error)
		return error;
	view->main_pid = (pid_t)main_pid;
	view->control_pid = (pid_t)control_pid;
	strcpy(view->cgroup, cgroup[0] == '/' ? cgroup + 1 : cgroup);
	return 0;
}

int units_read(struct units *units, const char *name, struct unit_view *ret_view,
	       struct diag *diag)
{
	OWN(own_pointer) char *path = NULL;
	struct unit_view view = {0};
	int error = bus_load_unit(units, name, &path, diag);

	if (!error)
		error = bus_get_text(units, path, BUS_UNIT_INTERFACE, "LoadState",
				     view.load_state, sizeof(view.load_state), diag);
	if (!error)
		error = bus_get_text(units, path, BUS_UNIT_INTERFACE, "ActiveState",
				     view.active_state, sizeof(view.active_state), diag);
	if (!error)
		error = bus_get_text(units, path, BUS_UNIT_INTERFACE, "SubState",
				     view.sub_state, sizeof(view.sub_state), diag);
	if (!error && is_service(name))
		error = read_service(units, path, &view, diag);
	if (!error)
		*ret_view = view;
	return error;
}

int units_version(struct units *units, char ret_text[UNITS_TEXT_SIZE], struct diag *diag)
{
	return bus_get_text(units, BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE, "Version",
			    ret_text, UNITS_TEXT_SIZE, diag);
}

/* --- jobs ------------------------------------------------------------------------- */

int units_begin_job(struct units *units, const char *method, const char *name,
		    struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	/* A stop may come while a start is queued, and then that ends. */
	bool is_stop = strcmp(method, "StopUnit") == 0;
	const char *path;
	int failed;

	units->job_result[0] = '\0';
	failed = bus_call(units, BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE, method, &reply,
			  &error, "ss", name, is_stop ? "replace" : "fail");
	if (failed >= 0)
		failed = sd_bus_message_read(reply, "o", &path);
	if (failed < 0)
		return bus_explain(name, method, failed, &error, diag);
	/* Its end cannot have been handled yet: signals are dispatched below only. */
	snprintf(units->job_path, sizeof(units->job_path), "%s", path);
	return 0;
}

int units_fd(const struct units *units)
{
	return sd_bus_get_fd(units->bus);
}

int units_dispatch(struct units *units, bool *ret_is_ended, struct diag *diag)
{
	int worked;

	do
		worked = sd_bus_process(units->bus, NULL);
	while (worked > 0 && !units->job_result[0]);
	if (worked < 0)
		return diag_fail(diag, -worked, "systemd", "the bus is gone");
	*ret_is_ended = units->job_result[0] != '\0';
	return 0;
}

static int turn(struct units *units, int64_t deadline_ms, struct diag *diag)
{
	struct pollfd polled = {.fd = sd_bus_get_fd(units->bus)};
	int events, ready, worked;

	do
		worked = sd_bus_process(units->bus, NULL);
	while (worked > 0 && !units->job_result[0]);
	if (worked < 0)
		return diag_fail(diag, -worked, "systemd", "the bus is gone");
	if (units->job_result[0])
		return 0;
	events = sd_bus_get_events(units->bus);
	if (events < 0)
		return diag_fail(diag, -events, "systemd", "the bus is gone");
	polled.events = (short)events;
	ready = wait_poll(units->wait, &polled, 1, deadline_ms, diag);
	if (ready < 0)
		return ready;
	return ready ? 0 : diag_fail(diag, ETIMEDOUT, "systemd", "a job has not ended");
}

int units_await_job(struct units *units, int64_t deadline_ms,
		    char ret_result[UNITS_TEXT_SIZE], struct diag *diag)
{
	while (!units->job_result[0]) {
		int error = turn(units, deadline_ms, diag);

		if (error)
			return error;
	}
	snprintf(ret_result, UNITS_TEXT_SIZE, "%s", units->job_result);
	return 0;
}

int units_run_job(struct units *units, const char *method, const char *name,
		  int64_t deadline_ms, char ret_result[UNITS_TEXT_SIZE],
		  struct diag *diag)
{
	int error = units_begin_job(units, method, name, diag);

	if (!error)
		error = units_await_job(units, deadline_ms, ret_result, diag);
	if (error)
		diag_prefix(diag, name);
	return error;
}

int units_reset_failed(struct units *units, const char *name, struct diag *diag)
{
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = bus_call(units, BUS_MANAGER_PATH, BUS_MANAGER_INTERFACE,
			      "ResetFailedUnit", NULL, &error, "s", name);

	if (failed >= 0 || sd_bus_error_has_name(&error, BUS_MANAGER ".NoSuchUnit"))
		return 0;
	return bus_explain(name, "its failed state stays", failed, &error, diag);
}

/* --- cgroups ---------------------------------------------------------------------- */

/* A file of a cgroup's, whole; nothing where the cgroup is not there. */
static int read_cgroup_file(const char *cgroup, const char *name,
			    char place[UNITS_PATH_SIZE + 64], struct bytes *ret_text,
			    bool *ret_exists, struct diag *diag)
{
	OWN(own_fd) int fd = -1;

	snprintf(place, UNITS_PATH_SIZE + 64, "/sys/fs/cgroup/%s/%s", cgroup, name);
	fd = open(place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*ret_exists = fd >= 0;
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : diag_fail(diag, errno, place, "cannot be opened");
	return protected_read_fd(fd, PROCS_LIMIT, place, ret_text, diag);
}

int units_cgroup_pids(const char *cgroup, pid_t *ret_pids, size_t max, size_t *ret_count,
		      struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	char path[UNITS_PATH_SIZE + 64];
	bool exists;
	size_t count = 0;
	char *line, *rest;
	int error;

	error = read_cgroup_file(cgroup, "cgroup.procs", path, &text, &exists, diag);
	if (error)
		return error;
	if (!exists) {
		*ret_count = 0;
		return 0;
	}
	for (line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		uint64_t pid;

		if (number_parse(line, 0, INT32_MAX, &pid))
			return diag_fail(diag, 0, path, "not as cgroups(7) says");
		if (count < max)
			ret_pids[count] = (pid_t)pid;
		count++;
	}
	*ret_count = count;
	return 0;
}

int units_count_below(const char *cgroup, size_t *ret_count, struct diag *diag)
{
	static const char key[] = "nr_descendants ";
	OWN(own_bytes) struct bytes text = {0};
	char path[UNITS_PATH_SIZE + 64];
	bool exists;
	uint64_t count;
	int error;

	error = read_cgroup_file(cgroup, "cgroup.stat", path, &text, &exists, diag);
	if (error)
		return error;
	if (!exists) {
		*ret_count = 0;
		return 0;
	}
	text.data[strcspn(text.data, "\n")] = '\0';
	if (strncmp(text.data, key, strlen(key)) != 0 ||
	    number_parse(text.data + strlen(key), 0, UINT32_MAX, &count))
		return diag_fail(diag, 0, path, "not as cgroups(7) says");
	*ret_count = (size_t)count;
	return 0;
}
