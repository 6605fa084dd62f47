// SPDX-License-Identifier: GPL-2.0-or-later
// Looking at the host's units: the worker's form, guard, proxy, the engine's own.
#include "collector/inspect.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/formats.h"
#include "collector/hostview.h"
#include "collector/netview.h"
#include "collector/unit_form.h"

enum { SHOW_MS = 10000 };

/* --- what units are made of ------------------------------------------------------- */

static int check_worker_commands(const struct session *session,
				 const struct unit_form *form, struct diag *diag)
{
	const struct layout *layout = &session->layout;
	const char *unit = session->site.worker_unit, *site = session->config.site;
	char policy[LAYOUT_PATH_SIZE + 1];
	const char *const pre[][UNIT_ARGV_MAX] = {
		{policy, "install", "--mode", "network_enforcement", "--site", site}};
	const char *const start[][UNIT_ARGV_MAX] = {
		{layout->probe, "net-agent", "--unix", layout->agent_socket}};
	const char *const post[][UNIT_ARGV_MAX] = {
		{policy, "revoke", "--site", site},
		{layout->probe, "net-once", "--plan", layout->plan, "--report",
		 layout->report, "--gate", layout->gate}};
	const struct {
		const char *const (*lines)[UNIT_ARGV_MAX];
		size_t count;
	} wanted[UNIT_COMMAND_COUNT] = {
		[UNIT_START_PRE] = {pre, ARRAY_SIZE(pre)},
		[UNIT_START] = {start, ARRAY_SIZE(start)},
		[UNIT_STOP_POST] = {post, ARRAY_SIZE(post)},
	};
	int error = 0;

	snprintf(policy, sizeof(policy), "+%s", layout->policy);
	for (int i = 0; !error && i < UNIT_COMMAND_COUNT; i++)
		error = unit_form_check_commands(unit, form, (enum unit_command)i,
						 wanted[i].lines, wanted[i].count, diag);
	return error;
}

int inspect_worker(struct session *session, struct diag *diag)
{
	OWN(unit_properties_release) struct unit_properties properties = {0};
	OWN(unit_properties_release) struct unit_properties defaults = {0};
	OWN(own_pointer) struct unit_form *form = calloc(1, sizeof(*form));
	const char *unit = session->site.worker_unit;
	int error = form ? 0 : diag_no_memory(diag);

	if (!error)
		error = unit_form_read(&session->units, unit, form, &properties, diag);
	if (!error)
		error = unit_form_read_defaults(&session->units, &defaults, diag);
	if (error)
		return error;
	if (!form->fragment[0])
		return diag_refuse(
			diag, unit,
			"there is no such unit; render the site again with net-site");
	error = unit_rules_judge_worker(unit, &properties, &defaults, &session->site,
					&session->layout, diag);
	if (!error)
		error = check_worker_commands(session, form, diag);
	if (!error)
		strcpy(session->worker_unit_sha256, form->sha256);
	return error;
}

/* The guard is loaded by this unit at each boot, and again when a firewall service
 * flushed it. */
static int check_guard_commands(const struct session *session,
				const struct unit_form *form, struct diag *diag)
{
	const char *const revoke[][UNIT_ARGV_MAX] = {
		{session->layout.policy, "revoke", "--site", session->config.site}};
	int error = 0;

	for (int i = 0; !error && i < UNIT_COMMAND_COUNT; i++) {
		bool is_wanted = i == UNIT_START || i == UNIT_RELOAD;

		error = unit_form_check_commands(
			session->site.guard_unit, form, (enum unit_command)i,
			is_wanted ? revoke : NULL, is_wanted, diag);
	}
	return error;
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

/* `check_form`, if there is one, says what the unit must be made of. */
static int read_unit(struct session *session, const char *name,
		     int (*check_form)(const struct session *session,
				       const struct unit_form *form, struct diag *diag),
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
		error = unit_form_read(&session->units, name, form, NULL, diag);
	if (!error)
		error = check_load(name, form, diag);
	if (!error && check_form)
		error = check_form(session, form, diag);
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

/* Asks the workload user's manager, as that user, who alone may, of its units `first` and
 * `second` (or NULL). */
static int show_user_units(struct session *session, const char *first, const char *second,
			   const char *names, struct lines_properties *ret_shown,
			   struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	int error = engine_run_as_user(&session->engine, "/usr/bin/systemctl",
				       (const char *[]){"systemctl", "--user", "show",
							"--no-pager", "--all", names,
							first, second, NULL},
				       SHOW_MS, &output, diag);

	return error ? error
		     : decoder_parse(&session->decoder, FORMAT_PROPERTIES, output.data,
				     output.size, first, ret_shown, diag);
}

/* "--property=" and all that could make socket calls fail. */
static int name_socket_properties(char *ret_option, size_t size, struct diag *diag)
{
	size_t used = (size_t)snprintf(ret_option, size, "--property=");
	const char *name;

	for (size_t i = 0; (name = unit_rules_socket_property(i)) && used < size; i++)
		used += (size_t)snprintf(ret_option + used, size - used, "%s%s",
					 i ? "," : "", name);
	return used < size ? 0
			   : diag_fail(diag, E2BIG, "systemctl", "too many properties");
}

/* Judges the properties that could make socket calls fail beside those of a unit of which
 * nothing is said. */
static int judge_engine(struct session *session, struct lines_properties *shown,
			struct diag *diag)
{
	OWN(unit_properties_release) struct unit_properties own = {0};
	OWN(unit_properties_release) struct unit_properties defaults = {0};
	const char *unit = session->site.engine_unit;
	char option[2048];
	int error = name_socket_properties(option, sizeof(option), diag);

	if (!error)
		error = show_user_units(session, unit, UNIT_FORM_NOTHING, option, shown,
					diag);
	for (size_t i = 0; !error && i < shown->count; i++) {
		const struct lines_property *one = &shown->properties[i];

		error = unit_properties_add(one->unit ? &defaults : &own, one->key,
					    one->value, diag);
	}
	if (!error && (!own.count || !defaults.count))
		error = diag_fail(
			diag, 0, unit,
			"the user's manager does not tell of it; see 'systemctl "
			"--user status' as the workload user");
	return error ? error : unit_rules_judge_sockets(unit, &own, &defaults, diag);
}

/* What the manager says that the unit is, and where it is from. */
struct engine_facts {
	char fragment[SITE_PATH_SIZE], drop_ins[LINES_VALUE_SIZE];
};

static int read_engine_facts(struct session *session, struct lines_properties *shown,
			     struct unit_state *ret_state, struct engine_facts *ret_facts,
			     struct diag *diag)
{
	const char *unit = session->site.engine_unit;
	const struct {
		const char *key;
		char *value;
		size_t size;
	} facts[] = {
		{"ActiveState", ret_state->active_state, sizeof(ret_state->active_state)},
		{"SubState", ret_state->sub_state, sizeof(ret_state->sub_state)},
		{"FragmentPath", ret_facts->fragment, sizeof(ret_facts->fragment)},
		{"DropInPaths", ret_facts->drop_ins, sizeof(ret_facts->drop_ins)},
	};
	int error = show_user_units(
		session, unit, NULL,
		"--property=ActiveState,SubState,FragmentPath,DropInPaths", shown, diag);

	for (size_t i = 0; !error && i < ARRAY_SIZE(facts); i++) {
		const char *value = lines_find(shown, 0, facts[i].key);

		if (!value || strlen(value) >= facts[i].size)
			return diag_fail(diag, 0, unit,
					 "the user's manager does not tell its %s; see "
					 "'systemctl --user status' as the workload user",
					 facts[i].key);
		strcpy(facts[i].value, value);
	}
	return error;
}

int inspect_engine_unit(struct session *session, struct unit_state *ret_state,
			struct diag *diag)
{
	const char *unit = session->site.engine_unit;
	OWN(own_pointer) struct lines_properties *shown = calloc(1, sizeof(*shown));
	struct engine_facts facts;
	char sha256[DIGEST_TEXT_SIZE], text[sizeof(facts) + DIGEST_TEXT_SIZE + 4];
	int error = shown ? read_engine_facts(session, shown, ret_state, &facts, diag)
			  : diag_no_memory(diag);

	if (error)
		return error;
	if (strcmp(ret_state->active_state, "active") != 0)
		return diag_refuse(diag, unit,
				   "is %s, not active; 'systemctl --user start' it as "
				   "the workload user",
				   ret_state->active_state);
	error = judge_engine(session, shown, diag);
	if (error)
		return error;
	error = unit_form_digest_file(facts.fragment, sha256, diag);
	if (error)
		return error;
	snprintf(text, sizeof(text), "%s %s %s\n", facts.fragment, sha256,
		 facts.drop_ins);
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
		error = unit_form_read(&session->units, names[i], form, NULL, diag);
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
	int error = read_unit(session, unit, NULL, ret_state, &view, diag);

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
	int error =
		read_unit(session, unit, check_guard_commands, ret_state, &view, diag);

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
	int error = read_unit(session, unit, NULL, ret_state, &view, diag);

	if (!error)
		error = check_active(unit, &view, diag);
	return error ? error : check_proxy(session, &view, diag);
}

static int read_confinement(pid_t pid, struct confinement *ret_confinement,
			    struct diag *diag)
{
	OWN(process_close) struct process process = PROCESS_INIT;
	int error = process_open(pid, &process, diag);

	return error ? error : process_read_confinement(&process, ret_confinement, diag);
}

/* What the manager is under, all of the workload's is; what PID 1 is under, the whole
 * host is, the controls included. */
static int check_manager_confinement(struct session *session, const char *unit,
				     pid_t main_pid, struct diag *diag)
{
	struct confinement init, manager;
	int error = read_confinement(1, &init, diag);

	if (!error)
		error = read_confinement(main_pid, &manager, diag);
	if (error)
		return error;
	session->outer_filters = init.filters;
	return inspect_confinement(unit, &manager, init.filters, diag);
}

int inspect_manager(struct session *session, struct diag *diag)
{
	OWN(unit_properties_release) struct unit_properties properties = {0};
	OWN(unit_properties_release) struct unit_properties defaults = {0};
	char unit[UNITS_TEXT_SIZE];
	struct unit_view view;
	int error;

	snprintf(unit, sizeof(unit), "user@%u.service", session->uid);
	error = units_read(&session->units, unit, &view, diag);
	if (!error && strcmp(view.active_state, "active") != 0)
		error = diag_refuse(diag, unit,
				    "is %s, not active: the workload user's manager does "
				    "not run; 'loginctl enable-linger %s' and 'systemctl "
				    "start %s'",
				    view.active_state, session->site.workload_user, unit);
	if (!error)
		error = unit_form_read_properties(&session->units, unit, &properties,
						  diag);
	if (!error)
		error = unit_form_read_defaults(&session->units, &defaults, diag);
	/* What limits it limits the engine and the daemon. */
	if (!error)
		error = unit_rules_judge_sockets(unit, &properties, &defaults, diag);
	return error ? error
		     : check_manager_confinement(session, unit, view.main_pid, diag);
}

int inspect_worker_again(struct session *session, struct diag *diag)
{
	const char *unit = session->site.worker_unit;
	struct unit_state state;
	struct unit_view view;
	int error = read_unit(session, unit, NULL, &state, &view, diag);

	if (!error && strcmp(state.unit_sha256, session->worker_unit_sha256) != 0)
		error = diag_refuse(diag, unit,
				    "it was changed while the collection ran; take a new "
				    "preflight");
	return error;
}
