// SPDX-License-Identifier: GPL-2.0-or-later
// What a unit is made of: its commands, its effective properties, its files.
#include "collector/unit_form.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/bus.h"
#include "common/buffer.h"
#include "common/own.h"
#include "common/protected.h"

enum { FILE_LIMIT = 1 << 20 };

const char *const unit_command_names[UNIT_COMMAND_COUNT] = {
	[UNIT_CONDITION] = "ExecCondition", [UNIT_START_PRE] = "ExecStartPre",
	[UNIT_START] = "ExecStart",         [UNIT_START_POST] = "ExecStartPost",
	[UNIT_RELOAD] = "ExecReload",       [UNIT_STOP] = "ExecStop",
	[UNIT_STOP_POST] = "ExecStopPost",
};

/* --- commands --------------------------------------------------------------------- */

static int read_argv(sd_bus_message *reply, struct unit_exec *line)
{
	const char *argument;
	int more = sd_bus_message_enter_container(reply, 'a', "s");

	while (more >= 0 &&
	       (more = sd_bus_message_read_basic(reply, 's', &argument)) > 0) {
		if (line->argc == UNIT_ARGV_MAX || strlen(argument) >= UNITS_PATH_SIZE)
			return -E2BIG;
		strcpy(line->argv[line->argc++], argument);
	}
	return more < 0 ? more : sd_bus_message_exit_container(reply);
}

static int read_flags(sd_bus_message *reply, struct unit_exec *line)
{
	const char *flag;
	int more = sd_bus_message_enter_container(reply, 'a', "s");

	while (more >= 0 && (more = sd_bus_message_read_basic(reply, 's', &flag)) > 0) {
		size_t used = strlen(line->flags);

		if (used + 1 + strlen(flag) >= sizeof(line->flags))
			return -E2BIG;
		sprintf(line->flags + used, "%s%s", used ? " " : "", flag);
	}
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

static int get_execs(struct units *units, const char *path, const char *name,
		     struct unit_execs *execs, struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	char property[32];
	int more;

	/* The form that tells of flags. */
	snprintf(property, sizeof(property), "%sEx", name);
	more = sd_bus_get_property(units->bus, BUS_MANAGER, path, BUS_SERVICE_INTERFACE,
				   property, &error, &reply, "a(" EXEC_TYPE ")");
	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "(" EXEC_TYPE ")");
	while (more >= 0 &&
	       (more = sd_bus_message_enter_container(reply, 'r', EXEC_TYPE)) > 0) {
		if (execs->count == UNIT_EXEC_MAX)
			return diag_refuse(diag, path,
					   "more than %d commands in %s; render the site "
					   "again with net-site",
					   UNIT_EXEC_MAX, property);
		more = read_exec(reply, &execs->lines[execs->count++]);
		if (more >= 0)
			more = sd_bus_message_exit_container(reply);
	}
	return more < 0 ? bus_explain(path, property, more, &error, diag) : 0;
}

static bool is_line(const struct unit_exec *line, const char *const *wanted)
{
	bool is_privileged = wanted[0][0] == '+';
	size_t argc = 0;

	for (; wanted[argc]; argc++)
		if (argc == line->argc ||
		    strcmp(line->argv[argc], wanted[argc] + (is_privileged && !argc)) !=
			    0)
			return false;
	return argc == line->argc &&
	       strcmp(line->flags, is_privileged ? "privileged" : "") == 0;
}

int unit_form_check_commands(const char *unit, const struct unit_form *form,
			     enum unit_command command,
			     const char *const (*wanted)[UNIT_ARGV_MAX], size_t count,
			     struct diag *diag)
{
	const struct unit_execs *execs = &form->execs[command];
	bool is_same = execs->count == count;

	for (size_t i = 0; is_same && i < count; i++)
		is_same = is_line(&execs->lines[i], wanted[i]);
	return is_same ? 0
		       : diag_refuse(
				 diag, unit,
				 "%s is not that of mode network_enforcement for this "
				 "probe runner; render the site again with net-site",
				 unit_command_names[command]);
}

/* --- properties ------------------------------------------------------------------- */

static void append_text(const char *text, struct buffer *out)
{
	buffer_add_byte(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buffer_add_byte(out, '\\');
		buffer_add_byte(out, *text);
	}
	buffer_add_byte(out, '"');
}

static int append_basic(sd_bus_message *reply, char type, struct buffer *out)
{
	union {
		uint8_t byte;
		int boolean;
		uint16_t u16;
		int16_t i16;
		uint32_t u32;
		int32_t i32;
		uint64_t u64;
		int64_t i64;
		double real;
		const char *text;
	} value;
	int failed = sd_bus_message_read_basic(reply, type, &value);

	if (failed < 0)
		return failed;
	switch (type) {
	case SD_BUS_TYPE_STRING:
	case SD_BUS_TYPE_OBJECT_PATH:
	case SD_BUS_TYPE_SIGNATURE:
		append_text(value.text, out);
		break;
	case SD_BUS_TYPE_BOOLEAN:
		buffer_print(out, "%s", value.boolean ? "true" : "false");
		break;
	case SD_BUS_TYPE_BYTE:
		buffer_print(out, "%u", value.byte);
		break;
	case SD_BUS_TYPE_UINT16:
		buffer_print(out, "%u", value.u16);
		break;
	case SD_BUS_TYPE_INT16:
		buffer_print(out, "%d", value.i16);
		break;
	case SD_BUS_TYPE_UINT32:
		buffer_print(out, "%u", value.u32);
		break;
	case SD_BUS_TYPE_INT32:
		buffer_print(out, "%d", value.i32);
		break;
	case SD_BUS_TYPE_UINT64:
		buffer_print(out, "%llu", (unsigned long long)value.u64);
		break;
	case SD_BUS_TYPE_INT64:
		buffer_print(out, "%lld", (long long)value.i64);
		break;
	case SD_BUS_TYPE_DOUBLE:
		buffer_print(out, "%.17g", value.real);
		break;
	default: /* a descriptor: no property has one */
		return -EBADMSG;
	}
	return 0;
}

/* Appends what is left of the container the message is in. */
static int append_values(sd_bus_message *reply, struct buffer *out)
{
	const char *contents;
	bool is_first = true;
	char type;
	int more;

	while ((more = sd_bus_message_peek_type(reply, &type, &contents)) > 0) {
		bool is_list = type == SD_BUS_TYPE_ARRAY;

		if (!is_first)
			buffer_add_byte(out, ' ');
		is_first = false;
		if (!strchr("arve", type)) {
			more = append_basic(reply, type, out);
		} else {
			more = sd_bus_message_enter_container(reply, type, contents);
			if (type != SD_BUS_TYPE_VARIANT)
				buffer_add_byte(out, is_list ? '[' : '(');
			if (more >= 0)
				more = append_values(reply, out);
			if (type != SD_BUS_TYPE_VARIANT)
				buffer_add_byte(out, is_list ? ']' : ')');
			if (more >= 0)
				more = sd_bus_message_exit_container(reply);
		}
		if (more < 0)
			return more;
	}
	return more;
}

static int read_entry(sd_bus_message *reply, struct unit_properties *properties,
		      struct diag *diag)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes text = {0};
	const char *name;
	int failed = sd_bus_message_read_basic(reply, 's', &name);

	if (failed >= 0)
		failed = append_values(reply, &buffer);
	if (failed < 0)
		return diag_fail(diag, -failed, "systemd", "a property cannot be read");
	failed = buffer_take(&buffer, &text, diag);
	return failed ? failed : unit_properties_add(properties, name, text.data, diag);
}

static int read_interface(struct units *units, const char *path, const char *interface,
			  struct unit_properties *properties, struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	int more = bus_call(units, path, "org.freedesktop.DBus.Properties", "GetAll",
			    &reply, &error, "s", interface);

	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "{sv}");
	while (more >= 0 &&
	       (more = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
		int failed = read_entry(reply, properties, diag);

		if (failed)
			return failed;
		more = sd_bus_message_exit_container(reply);
	}
	return more < 0 ? bus_explain(path, "its properties", more, &error, diag) : 0;
}

static int read_properties(struct units *units, const char *path,
			   struct unit_properties *ret_properties, struct diag *diag)
{
	OWN(unit_properties_release) struct unit_properties properties = {0};
	int error = read_interface(units, path, BUS_UNIT_INTERFACE, &properties, diag);

	if (!error)
		error = read_interface(units, path, BUS_SERVICE_INTERFACE, &properties,
				       diag);
	if (error)
		return error;
	*ret_properties = properties;
	properties = (struct unit_properties){0};
	return 0;
}

int unit_form_read_properties(struct units *units, const char *name,
			      struct unit_properties *ret_properties, struct diag *diag)
{
	OWN(own_pointer) char *path = NULL;
	int error = bus_load_unit(units, name, &path, diag);

	if (!error)
		error = read_properties(units, path, ret_properties, diag);
	if (error)
		diag_prefix(diag, name);
	return error;
}

int unit_form_read_defaults(struct units *units, struct unit_properties *ret_properties,
			    struct diag *diag)
{
	OWN(unit_properties_release) struct unit_properties properties = {0};
	const char *state;
	int error =
		unit_form_read_properties(units, UNIT_FORM_NOTHING, &properties, diag);

	if (error)
		return error;
	state = unit_properties_find(&properties, "LoadState");
	if (!state || strcmp(state, "\"not-found\"") != 0)
		return diag_refuse(diag, UNIT_FORM_NOTHING,
				   "is %.40s: it stands for what systemd does where "
				   "nothing is said; remove it",
				   state ? state : "unknown");
	*ret_properties = properties;
	properties = (struct unit_properties){0};
	return 0;
}

/* --- the digest ------------------------------------------------------------------- */

static void append_execs(const char *name, const struct unit_execs *execs,
			 struct buffer *out)
{
	for (size_t i = 0; i < execs->count; i++) {
		const struct unit_exec *line = &execs->lines[i];

		buffer_print(out, "%s=%s", name, line->flags);
		for (size_t j = 0; j < line->argc; j++) {
			buffer_add_byte(out, ' ');
			append_text(line->argv[j], out);
		}
		buffer_add_byte(out, '\n');
	}
}

int unit_form_digest_file(const char *path, char ret_sha256[DIGEST_TEXT_SIZE],
			  struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	/* Debian reaches /usr/lib through a link, and its folder of user units, too. */
	OWN(own_pointer) char *real = realpath(path, NULL);
	char sha256[DIGEST_TEXT_SIZE];
	int error;

	if (!real)
		return diag_refuse(diag, path, "%s; 'systemctl daemon-reload'",
				   strerror(errno));
	error = protected_open(real, 0, PROTECTED_FILE, FILE_LIMIT, &fd, diag);
	if (!error)
		error = digest_fd(fd, FILE_LIMIT, real, sha256, diag);
	if (!error)
		memcpy(ret_sha256, sha256, DIGEST_TEXT_SIZE);
	return error;
}

static int append_file(const char *path, struct buffer *out, struct diag *diag)
{
	char sha256[DIGEST_TEXT_SIZE];
	int error = unit_form_digest_file(path, sha256, diag);

	if (!error)
		buffer_print(out, "file %s %s\n", path, sha256);
	return error;
}

static int append_drop_ins(struct units *units, const char *path, struct buffer *out,
			   struct diag *diag)
{
	OWN(bus_own_message) sd_bus_message *reply = NULL;
	OWN(bus_own_error) sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *file;
	int more = sd_bus_get_property(units->bus, BUS_MANAGER, path, BUS_UNIT_INTERFACE,
				       "DropInPaths", &error, &reply, "as");

	if (more >= 0)
		more = sd_bus_message_enter_container(reply, 'a', "s");
	while (more >= 0 && (more = sd_bus_message_read_basic(reply, 's', &file)) > 0) {
		int failed = append_file(file, out, diag);

		if (failed)
			return failed;
	}
	return more < 0 ? bus_explain(path, "DropInPaths", more, &error, diag) : 0;
}

static int digest_form(struct units *units, const char *path,
		       const struct unit_properties *properties, struct unit_form *form,
		       struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	OWN(own_buffer) struct buffer out = {0};
	const char *name;
	int error;

	for (size_t i = 0; (name = unit_rules_digested(i)); i++) {
		const char *value = unit_properties_find(properties, name);

		/* One that this systemd does not know has no value on this host. */
		if (value)
			buffer_print(&out, "%s=%s\n", name, value);
	}
	for (int i = 0; i < UNIT_COMMAND_COUNT; i++)
		append_execs(unit_command_names[i], &form->execs[i], &out);
	error = form->fragment[0] ? append_file(form->fragment, &out, diag) : 0;
	if (!error)
		error = append_drop_ins(units, path, &out, diag);
	if (!error)
		error = buffer_take(&out, &text, diag);
	if (!error)
		digest_bytes(text.data, text.size, form->sha256);
	return error;
}

static int read_form(struct units *units, const char *path, struct unit_form *form,
		     struct unit_properties *properties, struct diag *diag)
{
	int needs_reload = 0;
	int error = bus_get_text(units, path, BUS_UNIT_INTERFACE, "FragmentPath",
				 form->fragment, sizeof(form->fragment), diag);

	if (!error)
		error = bus_get_trivial(units, path, BUS_UNIT_INTERFACE,
					"NeedDaemonReload", 'b', &needs_reload, diag);
	form->needs_reload = needs_reload != 0;
	for (int i = 0; !error && i < UNIT_COMMAND_COUNT; i++)
		error = get_execs(units, path, unit_command_names[i], &form->execs[i],
				  diag);
	if (!error)
		error = read_properties(units, path, properties, diag);
	if (!error)
		error = digest_form(units, path, properties, form, diag);
	return error;
}

int unit_form_read(struct units *units, const char *name, struct unit_form *ret_form,
		   struct unit_properties *ret_properties, struct diag *diag)
{
	OWN(unit_properties_release) struct unit_properties properties = {0};
	OWN(own_pointer) struct unit_form *form = calloc(1, sizeof(*form));
	OWN(own_pointer) char *path = NULL;
	int error;

	if (!form)
		return diag_no_memory(diag);
	error = bus_load_unit(units, name, &path, diag);
	if (!error)
		error = read_form(units, path, form, &properties, diag);
	if (error) {
		diag_prefix(diag, name);
		return error;
	}
	*ret_form = *form;
	if (ret_properties) {
		*ret_properties = properties;
		properties = (struct unit_properties){0};
	}
	return 0;
}
