// SPDX-License-Identifier: GPL-2.0-or-later
// Looking at the host's accounts, programs, units, engine and rules.
#include "collector/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "collector/hostview.h"
#include "collector/netview.h"
#include "collector/rules.h"
#include "common/protected.h"
#include "policy/kernel/account.h"
#include "policy/kernel/subuid.h"

enum { PROGRAM_LIMIT = 256 << 20, UNIT_FILE_LIMIT = 1 << 20, SHOW_MS = 10000 };

int inspect_accounts(struct session *session, struct diag *diag)
{
	struct process self = PROCESS_INIT;
	uint32_t uid;
	int error = account_find(&session->site, &uid, diag);

	if (error)
		return error;
	session->uid = uid;
	error = hostview_find_primary_group(uid, &session->gid, diag);
	if (!error)
		error = hostview_find_group(session->layout.worker_group,
					    &session->worker_gid, diag);
	if (!error)
		error = subuid_check_switch(SUBUID_NSSWITCH_PATH, diag);
	if (!error)
		error = subuid_read(SUBUID_PATH, session->site.workload_user, uid,
				    &session->subjects, diag);
	if (!error)
		error = process_open(getpid(), &self, diag);
	if (!error)
		error = process_measure(&self, &session->self, diag);
	process_close(&self);
	if (!error)
		error = engine_open(&session->site, session->uid, session->gid,
				    &session->decoder, &session->engine, diag);
	return error;
}

int inspect_programs(struct session *session, struct release_programs *ret_programs,
		     struct diag *diag)
{
	for (int i = 0; i < RELEASE_PROGRAM_COUNT; i++) {
		OWN(own_fd) int fd = -1;
		char path[SITE_PATH_SIZE + 32];
		int error;

		snprintf(path, sizeof(path), "%s/%s", session->site.install_dir,
			 release_program_names[i]);
		error = protected_open(path, 0, PROTECTED_EXECUTABLE, PROGRAM_LIMIT, &fd,
				       diag);
		if (!error)
			error = digest_fd(fd, PROGRAM_LIMIT, path,
					  ret_programs->sha256[i], diag);
		if (error)
			return error;
		if (strcmp(ret_programs->sha256[i],
			   session->release.programs.sha256[i]) != 0)
			return diag_refuse(diag, path,
					   "is not the release's; install the release "
					   "again");
		if (i == RELEASE_NET_PROBE && session->runner_fd < 0)
			session->runner_fd = take_fd(&fd);
	}
	return 0;
}

/* --- units ------------------------------------------------------------------------ */

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

static int check_worker(struct session *session, struct diag *diag)
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
	/* The files are digested: what runs must be what they say. */
	if (!error && form->needs_reload)
		error = diag_refuse(diag, name,
				    "its files changed since they were loaded; "
				    "'systemctl daemon-reload' and restart it");
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
static int read_engine_unit(struct session *session, struct unit_state *ret_state,
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

int inspect_units(struct session *session, struct preflight_units *ret_units,
		  struct diag *diag)
{
	const struct site *site = &session->site;
	struct unit_view view;
	int error =
		read_unit(session, site->worker_unit, &ret_units->worker, &view, diag);

	if (!error && strcmp(view.active_state, "inactive") != 0)
		error = diag_refuse(diag, site->worker_unit,
				    "is %s, not inactive; stop it (and 'systemctl "
				    "reset-failed') first",
				    view.active_state);
	if (!error)
		error = check_worker(session, diag);
	if (!error)
		error = read_unit(session, site->guard_unit, &ret_units->guard, &view,
				  diag);
	if (!error)
		error = check_active(site->guard_unit, &view, diag);
	if (!error)
		error = read_unit(session, site->proxy_unit, &ret_units->proxy, &view,
				  diag);
	if (!error)
		error = check_active(site->proxy_unit, &view, diag);
	if (!error)
		error = check_proxy(session, &view, diag);
	if (!error)
		error = read_engine_unit(session, &ret_units->engine, diag);
	return error;
}

/* --- engine and rules ------------------------------------------------------------- */

static int hold_engine(struct session *session, struct diag *diag)
{
	pid_t pid;
	int error = engine_pid(&session->engine, &pid, diag);

	process_close(&session->engine_process);
	own_fd(&session->engine_net_fd);
	if (!error)
		error = process_open(pid, &session->engine_process, diag);
	if (!error)
		error = process_open_namespace(&session->engine_process, "net",
					       &session->engine_net_fd, diag);
	return error;
}

int inspect_engine(struct session *session, struct preflight *found, struct diag *diag)
{
	struct engine_list containers, networks;
	struct engine_info info;
	int error = hold_engine(session, diag);

	if (!error)
		error = engine_info(&session->engine, &info, diag);
	if (!error)
		error = engine_list_containers(&session->engine, &containers, diag);
	if (!error && containers.count)
		error = diag_refuse(diag, "container engine",
				    "%zu containers are there ('%s'); remove them",
				    containers.count, containers.names[0]);
	if (!error)
		error = engine_list_networks(&session->engine, &networks, diag);
	if (!error && networks.count)
		error = diag_refuse(diag, "container engine",
				    "%zu networks of jobs are there ('%s'); remove them",
				    networks.count, networks.names[0]);
	if (!error)
		error = engine_image_id(&session->engine,
					session->release.candidate_image.reference,
					found->candidate_image_id, diag);
	if (!error &&
	    strcmp(found->candidate_image_id, session->release.candidate_image.id) != 0)
		error = diag_refuse(diag, "container engine",
				    "its image '%s' is not the release's; load that one "
				    "with 'docker load' as the workload user",
				    session->release.candidate_image.reference);
	if (error)
		return error;
	session->engine_info = info;
	found->daemon = info.identity;
	error = daemon_identity_digest(&found->daemon, found->daemon_sha256, diag);
	if (!error)
		strcpy(session->daemon_sha256, found->daemon_sha256);
	return error;
}

int inspect_rules(struct session *session, struct preflight *found, struct diag *diag)
{
	struct record_comparison *guard = &session->guard;
	int error =
		rules_compare(session, RULESET_DENY, COMPARISON_BEGIN, true, guard, diag);

	if (error)
		return error;
	strcpy(found->guard_kernel_sha256, guard->kernel_sha256);
	strcpy(found->nft_foreign_sha256, guard->foreign_sha256);
	return rules_read_semantic(&session->site, found->nft_ruleset_semantic_sha256,
				   diag);
}
