// SPDX-License-Identifier: GPL-2.0-or-later
// Looking at the host's units: the worker's form, guard, proxy, the engine's own.
#include "collector/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/hostview.h"
#include "collector/netview.h"
#include "common/protected.h"

enum { UNIT_FILE_LIMIT = 1 << 20, SHOW_MS = 10000 };

static int check_lines(const char *unit, const char *what, const struct unit_execs *execs,
		       const char *const (*wanted)[UNITS_ARGV_MAX], size_t count,
		       struct diag *diag)
{
	bool is_same = execs->count == count;

	for (size_t i = 0; is_same && i < count; i++) {
		const struct unit_exec *line = &execs->lines[i];
		/* A leading "+" stands for exempt from the unit's limits. */
		bool is_privileged = wanted[i][0][0] == '+';
		size_t argc = 0;

		for (; wanted[i][argc] && is_same; argc++)
			is_same = argc < line->argc &&
				  strcmp(line->argv[argc],
					 wanted[i][argc] + (is_privileged && !argc)) == 0;
		is_same = is_same && argc == line->argc &&
			  line->is_privileged == is_privileged;
	}
	return is_same ? 0
		       : diag_refuse(
				 diag, unit,
				 "%s is not that of mode network_enforcement for this "
				 "probe runner; render the site again with net-site",
				 what);
}

static int check_worker_lines(const struct session *session, const struct unit_form *form,
			      struct diag *diag)
{
	const struct layout *layout = &session->layout;
	const char *unit = session->site.worker_unit, *site = session->config.site;
	char policy[LAYOUT_PATH_SIZE + 1];
	const char *const pre[][UNITS_ARGV_MAX] = {
		{policy, "install", "--mode", "network_enforcement", "--site", site}};
	const char *const start[][UNITS_ARGV_MAX] = {
		{layout->probe, "net-agent", "--unix", layout->agent_socket}};
	const char *const post[][UNITS_ARGV_MAX] = {
		{policy, "revoke", "--site", site},
		{layout->probe, "net-once", "--plan", layout->plan, "--report",
		 layout->report, "--gate", layout->gate}};
	int error;

	snprintf(policy, sizeof(policy), "+%s", layout->policy);
	error = check_lines(unit, "ExecStartPre", &form->start_pre, pre, 1, diag);
	if (!error)
		error = check_lines(unit, "ExecStart", &form->start, start, 1, diag);
	if (!error)
		error = check_lines(unit, "ExecStop", &form->stop, NULL, 0, diag);
	if (!error)
		error = check_lines(unit, "ExecStopPost", &form->stop_post, post, 2,
				    diag);
	if (!error)
		error = check_lines(unit, "ExecCondition", &form->condition, NULL, 0,
				    diag);
	if (!error)
		error = check_lines(unit, "ExecStartPost", &form->start_post, NULL, 0,
				    diag);
	if (!error)
		error = check_lines(unit, "ExecReload", &form->reload, NULL, 0, diag);
	return error;
}

int inspect_worker(struct session *session, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	struct unit_form *form = session->worker_form;
	int error;

	if (!form)
		form = session->worker_form = calloc(1, sizeof(*form));
	if (!form)
		return diag_no_memory(diag);
	error = units_read_form(&session->units, unit, form, diag);
	if (error)
		return error;
	if (!form->fragment[0])
		return diag_refuse(
			diag, unit,
			"there is no such unit; render the site again with net-site");
	if (strcmp(form->user, session->site.workload_user) != 0 ||
	    strcmp(form->group, session->layout.worker_group) != 0 ||
	    strcmp(form->slice, "system.slice") != 0 || strcmp(form->restart, "no") != 0)
		return diag_refuse(
			diag, unit,
			"its User, Group, Slice or Restart is not that of mode "
			"network_enforcement; render the site again with net-site");
	return check_worker_lines(session, form, diag);
}

/* The files are digested: what runs must be what they say. */
static int check_load(const char *name, const struct unit_form *form, struct diag *diag)
{
	return form->needs_reload
		       ? diag_refuse(diag, name,
				     "its files changed since they were loaded; "
				     "'systemctl daemon-reload' and restart it")
		       : 0;
}

static int read_unit(struct session *session, const char *name,
		     struct unit_state *ret_state, struct unit_view *view,
		     struct diag *diag)
{
	OWN(own_pointer) struct unit_form *form = calloc(1, sizeof(*form));
	int error = form ? units_read(&session->units, name, view, diag)
			 : diag_no_memory(diag);

	if (!error && strcmp(view->load_state, "loaded") != 0)
		error = diag_refuse(
			diag, name,
			"there is no such unit (%s); render the site again with net-site",
			view->load_state);
	if (!error)
		error = units_read_form(&session->units, name, form, diag);
	if (!error)
		error = check_load(name, form, diag);
	if (error)
		return error;
	snprintf(ret_state->name, sizeof(ret_state->name), "%s", name);
	snprintf(ret_state->active_state, sizeof(ret_state->active_state), "%.31s",
		 view->active_state);
	snprintf(ret_state->sub_state, sizeof(ret_state->sub_state), "%.31s",
		 view->sub_state);
	strcpy(ret_state->unit_sha256, form->sha256);
	return 0;
}

static int check_active(const char *unit, const struct unit_view *view, struct diag *diag)
{
	if (strcmp(view->active_state, "active") == 0)
		return 0;
	return diag_refuse(diag, unit, "is %s, not active; 'systemctl start %s'",
			   view->active_state, unit);
}

/* The proxy's own process, in its own cgroup, running the reviewed program, and it
 * is the one that listens. */
static int check_proxy(struct session *session, const struct unit_view *view,
		       struct diag *diag)
{
	const char *unit = session->site.proxy_unit;
	struct endpoint endpoint = {.port = (uint16_t)session->site.proxy.port};
	OWN(process_close) struct process process = PROCESS_INIT;
	struct measurement measured;
	char cgroup[UNITS_PATH_SIZE];
	uint64_t inode;
	bool holds = false;
	int error = process_open(view->main_pid, &process, diag);

	strcpy(endpoint.address, session->site.proxy.address);
	snprintf(cgroup, sizeof(cgroup), "system.slice/%s", unit);
	if (!error)
		error = process_measure(&process, &measured, diag);
	if (!error && strcmp(measured.cgroup, cgroup) != 0)
		error = diag_refuse(
			diag, unit,
			"its process is in the cgroup '%s'; 'systemctl restart %s'",
			measured.cgroup, unit);
	if (!error && strcmp(measured.exe_sha256,
			     session->release.programs.sha256[RELEASE_NET_PROXY]) != 0)
		error = diag_refuse(
			diag, unit,
			"runs another program than the release's; install the release "
			"and the site's units again, and restart it");
	if (!error)
		error = netview_listener_inode(-1, &endpoint, &inode, diag);
	if (!error && !inode)
		error = diag_refuse(diag, unit,
				    "nothing listens on the site's proxy "
				    "endpoint %s:%u; render the site again with net-site "
				    "and restart it",
				    endpoint.address, endpoint.port);
	if (!error)
		error = hostview_holds_socket(&process, inode, &holds, diag);
	if (!error && !holds)
		error = diag_refuse(diag, unit,
				    "another process listens on the site's proxy "
				    "endpoint %s:%u; end that one and restart this",
				    endpoint.address, endpoint.port);
	if (!error)
		strcpy(session->proxy_sha256, measured.exe_sha256);
	return error;
}

/* "KEY=VALUE" of systemctl's output, at the start of a line. */
static bool find_value(const char *text, const char *key, char *ret_value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, key, length) == 0 && line[length] == '=') {
			size_t value = strcspn(line + length + 1, "\n");

			if (value >= size)
				return false;
			memcpy(ret_value, line + length + 1, value);
			ret_value[value] = '\0';
			return true;
		}
		if (!strchr(line, '\n'))
			break;
	}
	return false;
}

/* The engine's unit is the user manager's: asked as that user, who alone may. */
int inspect_engine_unit(struct session *session, struct unit_state *ret_state,
			struct diag *diag)
{
	const char *unit = session->site.engine_unit;
	OWN(own_bytes) struct bytes output = {0};
	OWN(own_pointer) char *real = NULL;
	OWN(own_fd) int fd = -1;
	char fragment[SITE_PATH_SIZE], drop_ins[1024], sha256[DIGEST_TEXT_SIZE],
		text[2048];
	int error = engine_run_as_user(
		&session->engine, "/usr/bin/systemctl",
		(const char *[]){
			"systemctl", "--user", "show", "--no-pager",
			"--property=ActiveState,SubState,FragmentPath,DropInPaths", unit,
			NULL},
		SHOW_MS, &output, diag);

	if (error)
		return error;
	if (!find_value(output.data, "ActiveState", ret_state->active_state,
			sizeof(ret_state->active_state)) ||
	    !find_value(output.data, "SubState", ret_state->sub_state,
			sizeof(ret_state->sub_state)) ||
	    !find_value(output.data, "FragmentPath", fragment, sizeof(fragment)) ||
	    !find_value(output.data, "DropInPaths", drop_ins, sizeof(drop_ins)))
		return diag_fail(diag, 0, unit, "the user's manager does not tell of it");
	if (strcmp(ret_state->active_state, "active") != 0)
		return diag_refuse(diag, unit,
				   "is %s, not active; 'systemctl --user start' it as "
				   "the workload user",
				   ret_state->active_state);
	/* Debian reaches its folder of user units through a link. */
	real = realpath(fragment, NULL);
	if (!real)
		return diag_refuse(diag, unit,
				   "its file '%s' is not there; 'systemctl --user "
				   "daemon-reload' as the workload user",
				   fragment);
	error = protected_open(real, 0, PROTECTED_FILE, UNIT_FILE_LIMIT, &fd, diag);
	if (!error)
		error = digest_fd(fd, UNIT_FILE_LIMIT, real, sha256, diag);
	if (error)
		return error;
	snprintf(text, sizeof(text), "%s %s %s\n", fragment, sha256, drop_ins);
	digest_bytes(text, strlen(text), ret_state->unit_sha256);
	snprintf(ret_state->name, sizeof(ret_state->name), "%s", unit);
	return 0;
}

/* --- what is asked of each ---------------------------------------------------------- */

/* Where users' managers look for units that are root's. */
static bool is_user_unit(const char *name)
{
	static const char *const folders[] = {
		"/etc/xdg/systemd/user",   "/etc/systemd/user",
		"/run/systemd/user",       "/usr/local/share/systemd/user",
		"/usr/share/systemd/user", "/usr/local/lib/systemd/user",
		"/usr/lib/systemd/user",
	};
	char path[SITE_UNIT_SIZE + 64];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

int inspect_unit_files(struct session *session, struct diag *diag)
{
	const struct site *site = &session->site;
	const char *const names[] = {site->guard_unit, site->proxy_unit,
				     site->worker_unit};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct unit_view view;
		int error = units_read(&session->units, names[i], &view, diag);

		if (!error && strcmp(view.load_state, "loaded") != 0)
			error = diag_refuse(diag, names[i],
					    "there is no such unit (%s); render the site "
					    "again with net-site",
					    view.load_state);
		if (error)
			return error;
	}
	if (!is_user_unit(site->engine_unit))
		return diag_refuse(diag, site->engine_unit,
				   "users' managers have no such unit; render the site "
				   "again with net-site");
	return 0;
}

int inspect_unit_loads(struct session *session, struct diag *diag)
{
	OWN(own_pointer) struct unit_form *form = calloc(1, sizeof(*form));
	const struct site *site = &session->site;
	const char *const names[] = {site->guard_unit, site->proxy_unit,
				     site->worker_unit};
	int error = form ? 0 : diag_no_memory(diag);

	for (size_t i = 0; !error && i < ARRAY_SIZE(names); i++) {
		error = units_read_form(&session->units, names[i], form, diag);
		if (!error)
			error = check_load(names[i], form, diag);
	}
	return error;
}

int inspect_worker_idle(struct session *session, struct unit_state *ret_state,
			struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	struct unit_view view;
	int error = read_unit(session, unit, ret_state, &view, diag);

	if (!error && strcmp(view.active_state, "inactive") != 0)
		error = diag_refuse(diag, unit,
				    "is %s, not inactive; stop it (and 'systemctl "
				    "reset-failed') first",
				    view.active_state);
	return error;
}

int inspect_guard(struct session *session, struct unit_state *ret_state,
		  struct diag *diag)
{
	const char *unit = session->site.guard_unit;
	struct unit_view view;
	int error = read_unit(session, unit, ret_state, &view, diag);

	return error ? error : check_active(unit, &view, diag);
}

static int check_local(const char *unit, const char *address, struct diag *diag)
{
	enum netview_route route;
	int error = netview_route(-1, address, &route, diag);

	if (!error && route != NETVIEW_ROUTE_LOCAL)
		error = diag_refuse(diag, unit,
				    "this host has no address %s; 'ip address add %s/32 "
				    "dev lo', or give the site one that it has",
				    address, address);
	return error;
}

int inspect_addresses(struct session *session, struct diag *diag)
{
	const struct site *site = &session->site;
	int error = check_local(site->proxy_unit, site->proxy.address, diag);

	if (!error && site->router_namespace == SITE_ROUTER_HOST)
		error = check_local(site->worker_unit, site->router.address, diag);
	return error;
}

int inspect_proxy(struct session *session, struct unit_state *ret_state,
		  struct diag *diag)
{
	const char *unit = session->site.proxy_unit;
	struct unit_view view;
	int error = read_unit(session, unit, ret_state, &view, diag);

	if (!error)
		error = check_active(unit, &view, diag);
	return error ? error : check_proxy(session, &view, diag);
}

int inspect_manager(struct session *session, struct diag *diag)
{
	char unit[UNITS_TEXT_SIZE];
	struct unit_view view;
	int error;

	snprintf(unit, sizeof(unit), "user@%u.service", session->uid);
	error = units_read(&session->units, unit, &view, diag);
	if (!error && strcmp(view.active_state, "active") != 0)
		error = diag_refuse(diag, unit,
				    "is %s, not active: the workload user's manager does "
				    "not run; 'loginctl enable-linger %s'",
				    view.active_state, session->site.workload_user);
	return error;
}
