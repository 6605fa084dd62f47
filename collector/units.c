// SPDX-License-Identifier: GPL-2.0-or-later
// systemd's units over the bus: jobs and properties, awaited by signal.
#include "collector/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <systemd/sd-bus.h>

#include "common/buffer.h"
#include "common/clock.h"
#include "common/number.h"
#include "common/own.h"
#include "common/protected.h"

#define MANAGER "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE MANAGER ".Manager"
#define UNIT_INTERFACE MANAGER ".Unit"
#define SERVICE_INTERFACE MANAGER ".Service"

enum { CALL_MS = 20000, FILE_LIMIT = 1 << 20, PROCS_LIMIT = 1 << 16 };

static void own_message(sd_bus_message **message)
{
	sd_bus_message_unref(*message);
	*message = NULL;
}

static void own_bus_error(sd_bus_error *error)
{
	sd_bus_error_free(error);
}

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

static int call(struct units *units, const char *path, const char *interface,
		const char *method, sd_bus_message **ret_reply, sd_bus_error *error,
		const char *types, ...)
{
	OWN(own_message) sd_bus_message *message = NULL;
	va_list arguments;
	int failed = sd_bus_message_new_method_call(units->bus, &message, MANAGER, path,
						    interface, method);

	if (failed < 0)
		return failed;
	va_start(arguments, types);
	failed = types ? sd_bus_message_appendv(message, types, arguments) : 0;
	va_end(arguments);
	if (failed < 0)
		return failed;
	return sd_bus_call(units->bus, message, (uint64_t)CALL_MS * 1000, error,
			   ret_reply);
}

static int explain(const char *place, const char *what, int failed,
		   const sd_bus_error *error, struct diag *diag)
{
	if (error->message)
		return diag_fail(diag, 0, place, "%s: %s", what, error->message);
	return diag_fail(diag, -failed, place, "%s", what);
}

int units_open(struct wait *wait, struct units *ret_units, struct diag *diag)
{
	struct units units = {.wait = wait};
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = sd_bus_open_system(&units.bus);

	if (failed < 0)
		return diag_fail(diag, -failed, "systemd", "the bus cannot be reached");
	*ret_units = units;
	failed = call(ret_units, MANAGER_PATH, MANAGER_INTERFACE, "Subscribe", NULL,
		      &error, NULL);
	if (failed >= 0)
		failed = sd_bus_match_signal(units.bus, NULL, MANAGER, MANAGER_PATH,
					     MANAGER_INTERFACE, "JobRemoved",
					     on_job_removed, ret_units);
	if (failed >= 0)
		return 0;
	explain("systemd", "signals cannot be had", failed, &error, diag);
	units_close(ret_units);
	return failed;
}

void units_close(struct units *units)
{
	sd_bus_flush_close_unref(units->bus);
	units->bus = NULL;
}

/* The object of a unit, loaded if it was not. */
static int load_unit(struct units *units, const char *name, char **ret_path,
		     struct diag *diag)
{
	OWN(own_message) sd_bus_message *reply = NULL;
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *path;
	int failed = call(units, MANAGER_PATH, MANAGER_INTERFACE, "LoadUnit", &reply,
			  &error, "s", name);

	if (failed >= 0)
		failed = sd_bus_message_read(reply, "o", &path);
	if (failed < 0)
		return explain(name, "cannot be loaded", failed, &error, diag);
	*ret_path = strdup(path);
	return *ret_path ? 0 : diag_no_memory(diag);
}

static int get_text(struct units *units, const char *path, const char *interface,
		    const char *property, char *ret_text, size_t size, struct diag *diag)
{
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	OWN(own_pointer) char *text = NULL;
	int failed = sd_bus_get_property_string(units->bus, MANAGER, path, interface,
						property, &error, &text);

	if (failed < 0)
		return explain(path, property, failed, &error, diag);
	if (strlen(text) >= size)
		return diag_refuse(diag, path, "%s is longer than %zu bytes", property,
				   size - 1);
	strcpy(ret_text, text);
	return 0;
}

static int get_trivial(struct units *units, const char *path, const char *interface,
		       const char *property, char type, void *ret_value,
		       struct diag *diag)
{
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = sd_bus_get_property_trivial(units->bus, MANAGER, path, interface,
						 property, &error, type, ret_value);

	return failed < 0 ? explain(path, property, failed, &error, diag) : 0;
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
	int error = get_text(units, path, SERVICE_INTERFACE, "Result", view->result,
			     sizeof(view->result), diag);

	if (!error)
		error = get_trivial(units, path, SERVICE_INTERFACE, "MainPID", 'u',
				    &main_pid, diag);
	if (!error)
		error = get_trivial(units, path, SERVICE_INTERFACE, "ControlPID", 'u',
				    &control_pid, diag);
	if (!error)
		error = get_text(units, path, SERVICE_INTERFACE, "ControlGroup", cgroup,
				 sizeof(cgroup), diag);
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
	int error = load_unit(units, name, &path, diag);

	if (!error)
		error = get_text(units, path, UNIT_INTERFACE, "LoadState",
				 view.load_state, sizeof(view.load_state), diag);
	if (!error)
		error = get_text(units, path, UNIT_INTERFACE, "ActiveState",
				 view.active_state, sizeof(view.active_state), diag);
	if (!error)
		error = get_text(units, path, UNIT_INTERFACE, "SubState", view.sub_state,
				 sizeof(view.sub_state), diag);
	if (!error && is_service(name))
		error = read_service(units, path, &view, diag);
	if (!error)
		*ret_view = view;
	return error;
}

int units_version(struct units *units, char ret_text[UNITS_TEXT_SIZE], struct diag *diag)
{
	return get_text(units, MANAGER_PATH, MANAGER_INTERFACE, "Version", ret_text,
			UNITS_TEXT_SIZE, diag);
}

/* --- jobs ------------------------------------------------------------------------- */

int units_begin_job(struct units *units, const char *method, const char *name,
		    struct diag *diag)
{
	OWN(own_message) sd_bus_message *reply = NULL;
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	/* A stop may come while a start is queued, and then that ends. */
	bool is_stop = strcmp(method, "StopUnit") == 0;
	const char *path;
	int failed;

	units->job_result[0] = '\0';
	failed = call(units, MANAGER_PATH, MANAGER_INTERFACE, method, &reply, &error,
		      "ss", name, is_stop ? "replace" : "fail");
	if (failed >= 0)
		failed = sd_bus_message_read(reply, "o", &path);
	if (failed < 0)
		return explain(name, method, failed, &error, diag);
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
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = call(units, MANAGER_PATH, MANAGER_INTERFACE, "ResetFailedUnit", NULL,
			  &error, "s", name);

	if (failed >= 0 || sd_bus_error_has_name(&error, MANAGER ".NoSuchUnit"))
		return 0;
	return explain(name, "its failed state stays", failed, &error, diag);
}

/* --- what a unit is made of ------------------------------------------------------- */

static int read_argv(sd_bus_message *reply, struct unit_exec *line)
{
	const char *argument;
	int more = sd_bus_message_enter_container(reply, 'a', "s");

	while (more >= 0 &&
	       (more = sd_bus_message_read_basic(reply, 's', &argument)) > 0) {
		if (line->argc == UNITS_ARGV_MAX || strlen(argument) >= UNITS_PATH_SIZE)
			return -E2BIG;
		strcpy(line->argv[line->argc++], argument);
	}
	return more < 0 ? more : sd_bus_message_exit_container(reply);
}

static int read_flags(sd_bus_message *reply, struct unit_exec *line)
{
	const char *flag;
	int more = sd_bus_message_enter_container(reply, 'a', "s");

	while (more >= 0 && (more = sd_bus_message_read_basic(reply, 's', &flag)) > 0)
		if (strcmp(flag, "privileged") == 0)
			line->is_privileged = true;
	return more < 0 ? more : sd_bus_message_exit_container(reply);
}

/* One of ExecStartEx & co.: path, argv, flags, and what its last run was. */
static int read_exec(sd_bus_message *reply, struct unit_exec *line)
{
	const char *path;
	int failed = sd_bus_message_read_basic(reply, 's', &path);

	if (failed >= 0)
		failed = read_argv(reply, line);
	if (failed >= 0)
		failed = read_flags(reply, line);
	/* argv[0] can be set apart from what is executed: the latter counts. */
	if (failed >= 0 && line->argc && strlen(path) < UNITS_PATH_SIZE)
		strcpy(line->argv[0], path);
	return failed < 0 ? failed : sd_bus_message_skip(reply, "ttttuii");
}

#define EXEC_TYPE "sasasttttuii"

static int get_execs(struct units *units, const char *path, const char *property,
		     struct unit_execs *execs, struct diag *diag)
{
	OWN(own_message) sd_bus_message *reply = NULL;
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int more = sd_bus_get_property(units->bus, MANAGER, path, SERVICE_INTERFACE,
				       property, &error, &reply, "a(" EXEC_TYPE ")");

	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "(" EXEC_TYPE ")");
	while (more >= 0 &&
	       (more = sd_bus_message_enter_container(reply, 'r', EXEC_TYPE)) > 0) {
		if (execs->count == UNITS_EXEC_MAX)
			return diag_refuse(diag, path, "more than %d commands in %s",
					   UNITS_EXEC_MAX, property);
		more = read_exec(reply, &execs->lines[execs->count++]);
		if (more >= 0)
			more = sd_bus_message_exit_container(reply);
	}
	return more < 0 ? explain(path, property, more, &error, diag) : 0;
}

/* The properties that say what a service may do; none changes by running it. */
/* What else orders and requires units is in the files, whose digests are taken too:
 * here it would change with whichever other units are loaded. */
static const char *const digested_unit[] = {"Id", "BindsTo", "PartOf",
					    "RefuseManualStart"};
static const char *const digested_service[] = {
	"Type",
	"Restart",
	"User",
	"Group",
	"SupplementaryGroups",
	"Slice",
	"KillMode",
	"RemainAfterExit",
	"NoNewPrivileges",
	"DynamicUser",
	"PrivateNetwork",
	"PrivateUsers",
	"CapabilityBoundingSet",
	"AmbientCapabilities",
	"RestrictAddressFamilies",
	"RestrictNamespaces",
	"RestrictNetworkInterfaces",
	"SystemCallFilter",
	"IPAddressAllow",
	"IPAddressDeny",
	"SocketBindAllow",
	"SocketBindDeny",
	"Environment",
	"EnvironmentFiles",
	"RootDirectory",
	"RuntimeDirectory",
	"RuntimeDirectoryMode",
	"TimeoutStopUSec",
	"UMask",
	"NetworkNamespacePath",
	"BPFProgram",
	"IPIngressFilterPath",
	"IPEgressFilterPath",
	"Delegate",
	"ProtectSystem",
	"PrivateTmp",
};

/* Appends the value of a property as text that is the same for the same value:
 * types and members in order. */
static int append_value(sd_bus_message *reply, struct buffer *out)
{
	char type;
	const char *contents;
	int more;

	while ((more = sd_bus_message_peek_type(reply, &type, &contents)) > 0) {
		union {
			uint8_t byte;
			int boolean;
			uint32_t u32;
			int32_t i32;
			uint64_t u64;
			int64_t i64;
			const char *text;
		} value;

		if (strchr("arv(e", type)) {
			more = sd_bus_message_enter_container(reply, type, contents);
			buffer_print(out, "%c[", type);
			if (more >= 0)
				more = append_value(reply, out);
			buffer_add_byte(out, ']');
			if (more >= 0)
				more = sd_bus_message_exit_container(reply);
		} else {
			more = sd_bus_message_read_basic(reply, type, &value);
			if (more >= 0 && strchr("sog", type))
				buffer_print(out, "%c%zu:%s ", type, strlen(value.text),
					     value.text);
			else if (more >= 0 && type == 'y')
				buffer_print(out, "y%u ", value.byte);
			else if (more >= 0 && strchr("biu", type))
				buffer_print(out, "%c%u ", type, value.u32);
			else if (more >= 0)
				buffer_print(out, "%c%llu ", type,
					     (unsigned long long)value.u64);
		}
		if (more < 0)
			return more;
	}
	return more;
}

static int append_property(struct units *units, const char *path, const char *interface,
			   const char *property, struct buffer *out, struct diag *diag)
{
	OWN(own_message) sd_bus_message *reply = NULL;
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed = call(units, path, "org.freedesktop.DBus.Properties", "Get", &reply,
			  &error, "ss", interface, property);

	/* A property that this systemd does not know has no value on this host. */
	if (failed < 0 && (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_PROPERTY)))
		return 0;
	buffer_print(out, "%s=", property);
	if (failed >= 0)
		failed = append_value(reply, out);
	buffer_add_byte(out, '\n');
	return failed < 0 ? explain(path, property, failed, &error, diag) : 0;
}

static void append_execs(const char *name, const struct unit_execs *execs,
			 struct buffer *out)
{
	for (size_t i = 0; i < execs->count; i++) {
		const struct unit_exec *line = &execs->lines[i];

		buffer_print(out, "%s=%s", name, line->is_privileged ? "+" : "");
		for (size_t j = 0; j < line->argc; j++)
			buffer_print(out, "%zu:%s ", strlen(line->argv[j]),
				     line->argv[j]);
		buffer_add_byte(out, '\n');
	}
}

static int append_file(const char *path, struct buffer *out, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	char sha256[DIGEST_TEXT_SIZE];
	int error = protected_open(path, 0, PROTECTED_FILE, FILE_LIMIT, &fd, diag);

	if (!error)
		error = digest_fd(fd, FILE_LIMIT, path, sha256, diag);
	if (!error)
		buffer_print(out, "file %s %s\n", path, sha256);
	return error;
}

static int append_drop_ins(struct units *units, const char *path, struct buffer *out,
			   struct diag *diag)
{
	OWN(own_message) sd_bus_message *reply = NULL;
	OWN(own_bus_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *file;
	int more = sd_bus_get_property(units->bus, MANAGER, path, UNIT_INTERFACE,
				       "DropInPaths", &error, &reply, "as");

	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "s");
	while (more >= 0 && (more = sd_bus_message_read_basic(reply, 's', &file)) > 0) {
		int failed = append_file(file, out, diag);

		if (failed)
			return failed;
	}
	return more < 0 ? explain(path, "DropInPaths", more, &error, diag) : 0;
}

static int read_properties(struct units *units, const char *path, struct unit_form *form,
			   struct diag *diag)
{
	int needs_reload = 0;
	int error = get_text(units, path, UNIT_INTERFACE, "FragmentPath", form->fragment,
			     sizeof(form->fragment), diag);

	if (!error)
		error = get_trivial(units, path, UNIT_INTERFACE, "NeedDaemonReload", 'b',
				    &needs_reload, diag);
	form->needs_reload = needs_reload != 0;
	if (!error)
		error = get_text(units, path, SERVICE_INTERFACE, "User", form->user,
				 sizeof(form->user), diag);
	if (!error)
		error = get_text(units, path, SERVICE_INTERFACE, "Group", form->group,
				 sizeof(form->group), diag);
	if (!error)
		error = get_text(units, path, SERVICE_INTERFACE, "Slice", form->slice,
				 sizeof(form->slice), diag);
	if (!error)
		error = get_text(units, path, SERVICE_INTERFACE, "Restart", form->restart,
				 sizeof(form->restart), diag);
	if (!error)
		error = get_execs(units, path, "ExecStartPreEx", &form->start_pre, diag);
	if (!error)
		error = get_execs(units, path, "ExecStartEx", &form->start, diag);
	if (!error)
		error = get_execs(units, path, "ExecStopEx", &form->stop, diag);
	if (!error)
		error = get_execs(units, path, "ExecStopPostEx", &form->stop_post, diag);
	if (!error)
		error = get_execs(units, path, "ExecConditionEx", &form->condition, diag);
	if (!error)
		error = get_execs(units, path, "ExecStartPostEx", &form->start_post,
				  diag);
	if (!error)
		error = get_execs(units, path, "ExecReloadEx", &form->reload, diag);
	return error;
}

static int digest_form(struct units *units, const char *path, struct unit_form *form,
		       struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	OWN(own_buffer) struct buffer buffer = {0};
	struct buffer *out = &buffer;
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(digested_unit); i++)
		error = append_property(units, path, UNIT_INTERFACE, digested_unit[i],
					out, diag);
	for (size_t i = 0; !error && i < ARRAY_SIZE(digested_service); i++)
		error = append_property(units, path, SERVICE_INTERFACE,
					digested_service[i], out, diag);
	if (error)
		return error;
	append_execs("ExecStartPre", &form->start_pre, out);
	append_execs("ExecStart", &form->start, out);
	append_execs("ExecStop", &form->stop, out);
	append_execs("ExecStopPost", &form->stop_post, out);
	append_execs("ExecCondition", &form->condition, out);
	append_execs("ExecStartPost", &form->start_post, out);
	append_execs("ExecReload", &form->reload, out);
	error = form->fragment[0] ? append_file(form->fragment, out, diag) : 0;
	if (!error)
		error = append_drop_ins(units, path, out, diag);
	if (!error)
		error = buffer_take(out, &text, diag);
	if (!error)
		digest_bytes(text.data, text.size, form->sha256);
	return error;
}

int units_read_form(struct units *units, const char *name, struct unit_form *ret_form,
		    struct diag *diag)
{
	OWN(own_pointer) struct unit_form *form = calloc(1, sizeof(*form));
	OWN(own_pointer) char *path = NULL;
	int error;

	if (!form)
		return diag_no_memory(diag);
	error = load_unit(units, name, &path, diag);
	if (!error)
		error = read_properties(units, path, form, diag);
	if (!error)
		error = digest_form(units, path, form, diag);
	if (error)
		diag_prefix(diag, name);
	else
		*ret_form = *form;
	return error;
}

/* --- cgroups ---------------------------------------------------------------------- */

int units_cgroup_pids(const char *cgroup, pid_t *ret_pids, size_t max, size_t *ret_count,
		      struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	OWN(own_fd) int fd = -1;
	char path[UNITS_PATH_SIZE + 64];
	size_t count = 0;
	char *line, *rest;
	int error;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/cgroup.procs", cgroup);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		*ret_count = 0;
		return 0;
	}
	if (fd < 0)
		return diag_fail(diag, errno, path, "cannot be opened");
	error = protected_read_fd(fd, PROCS_LIMIT, path, &text, diag);
	if (error)
		return error;
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
