// SPDX-License-Identifier: GPL-2.0-or-later
// What follows from a site: the places and accounts its units use.
#include "policy/layout.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "policy/render.h"

static int refuse_key(const char *name, const char *key, struct diag *diag,
		      const char *text)
{
	char place[DIAG_PLACE_SIZE];

	snprintf(place, sizeof(place), "%s: %s", name, key);
	return diag_refuse(diag, place, "%s", text);
}

/* Whether `path` is `folder` or lies in it. */
static bool is_within(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return strncmp(path, folder, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

static int check_plain(const struct site *site, const char *name, struct diag *diag)
{
	const struct {
		const char *key, *value;
	} paths[] = {
		{"engine.socket", site->engine.socket},
		{"engine.client_config", site->engine.client_config},
		{"runtime_dir", site->runtime_dir},
		{"install_dir", site->install_dir},
		{"profile", site->profile},
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!render_is_plain(paths[i].value))
			return refuse_key(name, paths[i].key, diag,
					  "a path of letters, digits and \"/._@+-\" is "
					  "needed: a unit takes no other as it stands");
	return 0;
}

/* Folders that others than this site's units make, empty or own. */
static bool is_taken(const char *folder)
{
	static const char *const taken[] = {"/run/user", "/run/systemd",    "/run/lock",
					    "/run/dbus", "/run/docker",     "/run/log",
					    "/run/udev", "/run/credentials"};

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		if (is_within(folder, taken[i]))
			return true;
	return strcmp(folder, "/run") == 0;
}

static int check_folders(const struct site *site, const struct layout *layout,
			 const char *name, struct diag *diag)
{
	const char *socket_dir = layout->engine_socket_dir;

	if (is_taken(site->runtime_dir))
		return refuse_key(name, "runtime_dir", diag,
				  "belongs to others: a folder of this site's own, like "
				  "/run/NAME-worker, is needed");
	if (is_taken(socket_dir))
		return refuse_key(name, "engine.socket", diag,
				  "its folder belongs to others: a private one, like "
				  "/run/NAME, is needed");
	if (is_within(socket_dir, site->runtime_dir) ||
	    is_within(site->runtime_dir, socket_dir))
		return refuse_key(name, "engine.socket", diag,
				  "its folder must lie apart from runtime_dir, which "
				  "the workload user's other processes cannot enter");
	return 0;
}

static int derive_accounts(const struct site *site, const char *name,
			   struct layout *layout, struct diag *diag)
{
	char longest[SITE_NAME_SIZE + 8];

	snprintf(longest, sizeof(longest), "%s-worker", site->name);
	if (strlen(longest) >= SITE_ACCOUNT_SIZE)
		return refuse_key(name, "name", diag,
				  "too long: the group NAME-worker would have more than "
				  "31 letters");
	memcpy(layout->worker_group, longest, strlen(longest) + 1);
	snprintf(layout->proxy_user, sizeof(layout->proxy_user), "%.*s-proxy",
		 SITE_ACCOUNT_SIZE - 8, site->name);
	if (strcmp(site->workload_user, layout->worker_group) == 0 ||
	    strcmp(site->workload_user, layout->proxy_user) == 0)
		return refuse_key(name, "workload_user", diag,
				  "the same as an account that the units need for "
				  "themselves: NAME-worker, NAME-proxy");
	return 0;
}

static void derive_paths(const struct site *site, struct layout *layout)
{
	const struct {
		char *path;
		const char *folder, *file;
	} paths[] = {
		{layout->probe, site->install_dir, "net-probe"},
		{layout->policy, site->install_dir, "net-policy"},
		{layout->proxy, site->install_dir, "net-proxy"},
		{layout->agent_dir, site->runtime_dir, "agent"},
		{layout->report, site->runtime_dir, "agent/report.json"},
		{layout->plan, site->runtime_dir, "plan.json"},
		{layout->gate, site->runtime_dir, "gate"},
		{layout->state_dir, "/var/lib", site->name},
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		snprintf(paths[i].path, LAYOUT_PATH_SIZE, "%s/%s", paths[i].folder,
			 paths[i].file);
	snprintf(layout->engine_socket_dir, sizeof(layout->engine_socket_dir), "%.*s",
		 (int)(strrchr(site->engine.socket, '/') - site->engine.socket),
		 site->engine.socket);
}

int layout_of_site(const struct site *site, const char *name, struct layout *ret_layout,
		   struct diag *diag)
{
	struct layout layout = {0};
	int error = check_plain(site, name, diag);

	if (!error)
		error = derive_accounts(site, name, &layout, diag);
	if (error)
		return error;
	derive_paths(site, &layout);
	if (snprintf(layout.agent_socket, sizeof(layout.agent_socket), "%s/socket",
		     layout.agent_dir) >= (int)sizeof(layout.agent_socket))
		return refuse_key(name, "runtime_dir", diag,
				  "too long: the name of a socket in it would exceed 107 "
				  "bytes");
	error = check_folders(site, &layout, name, diag);
	if (error)
		return error;
	*ret_layout = layout;
	return 0;
}
