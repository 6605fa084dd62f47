// SPDX-License-Identifier: GPL-2.0-or-later
// A site's units, accounts and folders as files, in memory.
#include "policy/net-site/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/render.h"

#define NUMBER_SIZE 24

static int render_file(const struct template *template,
		       const struct render_variable *variables, size_t count,
		       struct tree_file *ret_file, struct diag *diag)
{
	OWN(own_bytes) struct bytes path = {0}, content = {0};
	int error = render_text(template->path, strlen(template->path), template->name,
				variables, count, &path, diag);

	if (!error)
		error = render_text(template->start,
				    (size_t)(template->end - template->start),
				    template->name, variables, count, &content, diag);
	if (error)
		return error;
	ret_file->path = take_bytes(&path);
	ret_file->content = take_bytes(&content);
	return 0;
}

static int render_all(const struct render_variable *variables, size_t count,
		      struct tree_file files[TEMPLATES_COUNT], struct diag *diag)
{
	for (size_t i = 0; i < TEMPLATES_COUNT; i++) {
		int error = render_file(&templates[i], variables, count, &files[i], diag);

		if (error) {
			while (i > 0)
				tree_file_release(&files[--i]);
			return error;
		}
	}
	return 0;
}

int units_render(const struct units_request *request,
		 struct tree_file ret_files[TEMPLATES_COUNT], struct diag *diag)
{
	const struct site *site = request->site;
	const struct layout *layout = request->layout;
	char uid[NUMBER_SIZE], proxy_port[NUMBER_SIZE];
	const struct render_variable variables[] = {
		{"name", site->name},
		{"site", request->site_path},
		{"uid", uid},
		{"workload_user", site->workload_user},
		{"worker_group", layout->worker_group},
		{"proxy_user", layout->proxy_user},
		{"worker_unit", site->worker_unit},
		{"guard_unit", site->guard_unit},
		{"proxy_unit", site->proxy_unit},
		{"engine_unit", site->engine_unit},
		{"install_dir", site->install_dir},
		{"profile", site->profile},
		{"runtime_dir", site->runtime_dir},
		/* RuntimeDirectory= counts from /run, where site.c wants it. */
		{"runtime_name", site->runtime_dir + strlen("/run/")},
		{"agent_socket", layout->agent_socket},
		{"plan", layout->plan},
		{"report", layout->report},
		{"gate", layout->gate},
		{"state_dir", layout->state_dir},
		{"engine_socket", site->engine.socket},
		{"engine_socket_dir", layout->engine_socket_dir},
		{"client_config", site->engine.client_config},
		{"proxy_address", site->proxy.address},
		{"proxy_port", proxy_port},
	};

	if (request->uid == 0)
		return diag_refuse(diag, "uid", "the workload user cannot be root");
	if (!render_is_plain(request->site_path))
		return diag_refuse(diag, request->site_path,
				   "the units need a path of letters, digits and "
				   "\"/._@+-\"");
	snprintf(uid, sizeof(uid), "%u", request->uid);
	snprintf(proxy_port, sizeof(proxy_port), "%" PRId64, site->proxy.port);
	return render_all(variables, ARRAY_SIZE(variables), ret_files, diag);
}
