// SPDX-License-Identifier: GPL-2.0-or-later
// The container engine, driven by its CLI as the workload user.
#include "collector/engine.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "collector/formats.h"
#include "common/child.h"
#include "common/sandbox.h"

enum {
	CALL_MS = 30000,
	OUTPUT_LIMIT = 262144,
	ERROR_LIMIT = 16384,
	ARGUMENTS_MAX = 48,
	PIDS_LIMIT = 16,
	MEMORY_LIMIT = 64 << 20,
};

#define ENGINE_PLACE "container engine"

/* --- the forms of its answers ------------------------------------------------------ */

static const struct json_field info_fields[] = {
	{JSON_OBJECT(struct engine_info, identity, &daemon_identity_table)},
	{JSON_INTEGER(struct engine_info, containers, 0, 1000000)},
	{JSON_BOOLEAN(struct engine_info, has_memory_limit)},
	{JSON_BOOLEAN(struct engine_info, has_pids_limit)},
};
const struct json_table engine_info_table = JSON_TABLE(struct engine_info, info_fields);

static const struct json_field mount_fields[] = {
	{JSON_TEXT(struct engine_mount, type, 0, &json_rule_ascii)},
	{JSON_TEXT(struct engine_mount, source, 0, &json_rule_ascii)},
	{JSON_TEXT(struct engine_mount, destination, 0, &json_rule_ascii)},
	{JSON_BOOLEAN(struct engine_mount, is_writable)},
};
static const struct json_table mount_table =
	JSON_TABLE(struct engine_mount, mount_fields);
static const struct json_field mount_item = {
	JSON_ITEM_OBJECT(struct engine_mount, &mount_table)};

static const struct json_field attachment_fields[] = {
	{JSON_TEXT(struct engine_attachment, network, 1, &json_rule_ascii)},
	{JSON_TEXT(struct engine_attachment, address, 0, &json_rule_ascii)},
	{JSON_TEXT(struct engine_attachment, gateway, 0, &json_rule_ascii)},
};
static const struct json_table attachment_table =
	JSON_TABLE(struct engine_attachment, attachment_fields);
static const struct json_field attachment_item = {
	JSON_ITEM_OBJECT(struct engine_attachment, &attachment_table)};
static const struct json_field security_item = {JSON_ITEM_TEXT(64, 1, &json_rule_ascii)};

#define COUNT(member_) JSON_INTEGER(struct engine_container, member_, 0, JSON_MAX_INTEGER)
#define SHORT_TEXT(member_)                                                              \
	JSON_TEXT(struct engine_container, member_, 0, &json_rule_ascii)

static const struct json_field container_fields[] = {
	{JSON_TEXT(struct engine_container, id, 64, &json_rule_digest)},
	{SHORT_TEXT(image)},
	{SHORT_TEXT(user)},
	{SHORT_TEXT(network_mode)},
	{SHORT_TEXT(ipc_mode)},
	{SHORT_TEXT(pid_mode)},
	{SHORT_TEXT(userns_mode)},
	{SHORT_TEXT(runtime)},
	{COUNT(pid)},
	{COUNT(restart_count)},
	{COUNT(pids_limit)},
	{COUNT(memory)},
	{COUNT(cap_add)},
	{COUNT(cap_drop)},
	{COUNT(tmpfs)},
	{COUNT(binds)},
	{JSON_BOOLEAN(struct engine_container, is_running)},
	{JSON_BOOLEAN(struct engine_container, is_read_only)},
	{JSON_BOOLEAN(struct engine_container, is_privileged)},
	{JSON_BOOLEAN(struct engine_container, has_init)},
	{JSON_BOOLEAN(struct engine_container, has_devices)},
	{JSON_BOOLEAN(struct engine_container, has_ports)},
	{JSON_ARRAY(struct engine_container, security, security_count, &security_item,
		    0)},
	{JSON_ARRAY(struct engine_container, mounts, mount_count, &mount_item, 0)},
	{JSON_ARRAY(struct engine_container, networks, network_count, &attachment_item,
		    0)},
};
const struct json_table engine_container_table =
	JSON_TABLE(struct engine_container, container_fields);

/* Go templates that print those forms. The engine leaves a container's `Tmpfs` away where
 * there is none: a field that is not there would be an error. */
static const char info_template[] =
	"{\"identity\":{\"id\":{{json .ID}},\"version\":{{json .ServerVersion}},"
	"\"root_dir\":{{json .DockerRootDir}},\"storage_driver\":{{json .Driver}},"
	"\"cgroup_driver\":{{json .CgroupDriver}},"
	"\"cgroup_version\":{{json .CgroupVersion}},"
	"\"default_runtime\":{{json .DefaultRuntime}},"
	"\"security_options\":{{json .SecurityOptions}},\"socket\":\"%s\"},"
	"\"containers\":{{json .Containers}},"
	"\"has_memory_limit\":{{json .MemoryLimit}},"
	"\"has_pids_limit\":{{json .PidsLimit}}}";

static const char container_template[] =
	"{"
	"\"id\":{{json .Id}},"
	"\"image\":{{json .Image}},"
	"\"user\":{{json .Config.User}},"
	"\"network_mode\":{{json .HostConfig.NetworkMode}},"
	"\"ipc_mode\":{{json .HostConfig.IpcMode}},"
	"\"pid_mode\":{{json .HostConfig.PidMode}},"
	"\"userns_mode\":{{json .HostConfig.UsernsMode}},"
	"\"runtime\":{{json .HostConfig.Runtime}},"
	"\"pid\":{{json .State.Pid}},"
	"\"restart_count\":{{json .RestartCount}},"
	"\"pids_limit\":{{with .HostConfig.PidsLimit}}{{json .}}{{else}}0{{end}},"
	"\"memory\":{{json .HostConfig.Memory}},"
	"\"cap_add\":{{with .HostConfig.CapAdd}}{{len .}}{{else}}0{{end}},"
	"\"cap_drop\":{{with .HostConfig.CapDrop}}{{len .}}{{else}}0{{end}},"
	"\"has_devices\":{{if or .HostConfig.Devices .HostConfig.DeviceRequests "
	".HostConfig.DeviceCgroupRules}}true{{else}}false{{end}},"
	"\"has_ports\":{{if or .HostConfig.PortBindings .HostConfig.PublishAllPorts}}true"
	"{{else}}false{{end}},"
	"\"tmpfs\":{{with index .HostConfig \"Tmpfs\"}}{{len .}}{{else}}0{{end}},"
	"\"binds\":{{with .HostConfig.Binds}}{{len .}}{{else}}0{{end}},"
	"\"is_running\":{{json .State.Running}},"
	"\"is_read_only\":{{json .HostConfig.ReadonlyRootfs}},"
	"\"is_privileged\":{{json .HostConfig.Privileged}},"
	"\"has_init\":{{with .HostConfig.Init}}{{json .}}{{else}}false{{end}},"
	"\"security\":{{with .HostConfig.SecurityOpt}}{{json .}}{{else}}[]{{end}},"
	"\"mounts\":[{{range $i,$m := .Mounts}}{{if $i}},{{end}}"
	"{\"type\":{{json $m.Type}},\"source\":{{json $m.Source}},"
	"\"destination\":{{json $m.Destination}},\"is_writable\":{{json $m.RW}}}{{end}}],"
	"\"networks\":[{{$next := false}}{{range $n,$v := .NetworkSettings.Networks}}"
	"{{if $next}},{{end}}{{$next = true}}{\"network\":{{json $n}},"
	"\"address\":{{json $v.IPAddress}},\"gateway\":{{json $v.Gateway}}}{{end}}]}";

/* --- running it ------------------------------------------------------------------- */

int engine_open(const struct site *site, uid_t uid, gid_t gid, struct decoder *decoder,
		struct engine *ret_engine, struct diag *diag)
{
	struct engine engine = {site, decoder, uid, gid, "", "", ""};

	(void)diag;
	snprintf(engine.host, sizeof(engine.host), "unix://%s", site->engine.socket);
	snprintf(engine.runtime_variable, sizeof(engine.runtime_variable),
		 "XDG_RUNTIME_DIR=/run/user/%u", uid);
	snprintf(engine.bus_variable, sizeof(engine.bus_variable),
		 "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/%u/bus", uid);
	*ret_engine = engine;
	return 0;
}

static int become_user(void *context)
{
	const struct engine *engine = context;
	struct diag diag = {0};

	if (sandbox_drop_bounding_set(&diag))
		return -EPERM;
	if (setgroups(0, NULL) != 0 ||
	    setresgid(engine->gid, engine->gid, engine->gid) != 0 ||
	    setresuid(engine->uid, engine->uid, engine->uid) != 0)
		return -errno;
	/* No new privileges: the CLI needs none of the set-uid helpers. */
	return sandbox_drop_privileges(&diag) ? -EPERM : 0;
}

typedef int run_child(const struct child_spec *spec, struct child_result *ret_result,
		      struct diag *diag);

static int run_program(struct engine *engine, const char *path,
		       const char *const *arguments, int timeout_ms, run_child *run,
		       struct child_result *ret_result, struct diag *diag)
{
	const char *const environment[] = {engine->runtime_variable, engine->bus_variable,
					   NULL};
	const struct child_spec spec = {.path = path,
					.arguments = arguments,
					.prepare = become_user,
					.context = engine,
					.environment = environment,
					.timeout_ms = timeout_ms,
					.output_limit = OUTPUT_LIMIT,
					.error_limit = ERROR_LIMIT};

	return run(&spec, ret_result, diag);
}

int engine_run_as_user(struct engine *engine, const char *path,
		       const char *const *arguments, int timeout_ms,
		       struct bytes *ret_output, struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {0};
	int error = run_program(engine, path, arguments, timeout_ms, child_run_checked,
				&result, diag);

	if (!error)
		*ret_output = take_bytes(&result.output);
	return error;
}

/* child_run_checked(), but a program that says no is refused, for its first line. */
static int run_starter(const struct child_spec *spec, struct child_result *ret_result,
		       struct diag *diag)
{
	int error = child_run(spec, ret_result, diag);

	if (error || ret_result->exit_status == 0)
		return error;
	if (ret_result->is_timeout || ret_result->is_overflow || ret_result->signal)
		return child_explain(spec, ret_result, diag);
	ret_result->error.data[strcspn(ret_result->error.data, "\n")] = '\0';
	return diag_refuse(diag, spec->path,
			   "%s; see 'journalctl --user' as the workload user",
			   ret_result->error.data);
}

int engine_start_user_unit(struct engine *engine, const char *const *arguments,
			   int timeout_ms, struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {0};

	return run_program(engine, "/usr/bin/systemd-run", arguments, timeout_ms,
			   run_starter, &result, diag);
}

/* The CLI with `rest` (ends with NULL) behind the fixed options. */
static int call(struct engine *engine, const char *const *rest, struct bytes *ret_output,
		struct diag *diag)
{
	const char *arguments[ARGUMENTS_MAX] = {ENGINE_CLIENT, "--host", engine->host,
						"--config",
						engine->site->engine.client_config};
	size_t count = 5;

	for (; *rest; rest++) {
		if (count == ARGUMENTS_MAX - 1)
			return diag_fail(diag, E2BIG, ENGINE_PLACE, "too many arguments");
		arguments[count++] = *rest;
	}
	return engine_run_as_user(engine, ENGINE_CLIENT, arguments, CALL_MS, ret_output,
				  diag);
}

static void strip_newline(struct bytes *text)
{
	while (text->size && text->data[text->size - 1] == '\n')
		text->data[--text->size] = '\0';
}

/* The same for an answer that cannot be empty. */
static int ask(struct engine *engine, const char *const *rest, struct bytes *ret_output,
	       struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	int error = call(engine, rest, &output, diag);

	if (error)
		return error;
	strip_newline(&output);
	if (!output.size)
		return diag_fail(diag, 0, ENGINE_PLACE,
				 "'docker %s' succeeded and printed nothing; try again",
				 rest[0]);
	*ret_output = take_bytes(&output);
	return 0;
}

int engine_info(struct engine *engine, struct engine_info *ret_info, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	char template[sizeof(info_template) + SITE_SOCKET_SIZE];
	struct engine_info info;
	int error;

	snprintf(template, sizeof(template), info_template, engine->site->engine.socket);
	error = ask(engine, (const char *[]){"info", "--format", template, NULL}, &output,
		    diag);
	if (!error)
		error = decoder_parse(engine->decoder, FORMAT_INFO, output.data,
				      output.size, ENGINE_PLACE, &info, diag);
	if (error)
		return error;
	daemon_identity_sort(&info.identity);
	error = daemon_identity_check(&info.identity, ENGINE_PLACE, diag);
	if (!error)
		*ret_info = info;
	return error;
}

static int read_names(struct engine *engine, const struct bytes *output,
		      struct lines_names *ret_names, struct diag *diag)
{
	return decoder_parse(engine->decoder, FORMAT_NAMES, output->data, output->size,
			     ENGINE_PLACE, ret_names, diag);
}

int engine_image_id(struct engine *engine, const char *reference,
		    char ret_id[RELEASE_IMAGE_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	OWN(own_bytes) struct bytes listed = {0};
	struct lines_names ids;
	int error = call(
		engine,
		(const char *[]){"image", "ls", "--no-trunc", "--quiet", reference, NULL},
		&listed, diag);

	if (!error)
		error = read_names(engine, &listed, &ids, diag);
	if (!error && !ids.count)
		return diag_refuse(diag, ENGINE_PLACE,
				   "has no image '%s'; load it with 'docker load' as the "
				   "workload user",
				   reference);
	if (!error)
		error = ask(engine,
			    (const char *[]){"image", "inspect", "--format", "{{.Id}}",
					     reference, NULL},
			    &output, diag);
	if (!error)
		error = read_names(engine, &output, &ids, diag);
	if (error)
		return error;
	if (ids.count != 1 || strlen(ids.names[0]) >= RELEASE_IMAGE_SIZE)
		return diag_refuse(diag, ENGINE_PLACE,
				   "the id of its image '%s' is none; load the release's "
				   "again",
				   reference);
	strcpy(ret_id, ids.names[0]);
	return 0;
}

int engine_list_containers(struct engine *engine, struct lines_names *ret_list,
			   struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	struct lines_names list = {.count = 0};
	struct engine_info info;
	int error = call(engine,
			 (const char *[]){"ps", "--all", "--no-trunc", "--format",
					  "{{.Names}}", NULL},
			 &output, diag);

	if (!error)
		error = read_names(engine, &output, &list, diag);
	if (!error)
		error = engine_info(engine, &info, diag);
	if (error)
		return error;
	/* Two answers to one question: an empty list alone would not be believed. */
	if ((size_t)info.containers != list.count)
		return diag_fail(diag, 0, ENGINE_PLACE,
				 "counts %lld containers and lists %zu; try again when "
				 "nobody else uses it",
				 (long long)info.containers, list.count);
	*ret_list = list;
	return 0;
}

int engine_list_networks(struct engine *engine, struct lines_names *ret_list,
			 struct diag *diag)
{
	static const char *const own[] = {"bridge", "host", "none"};
	OWN(own_bytes) struct bytes output = {0};
	struct lines_names all = {.count = 0}, list = {.count = 0};
	size_t own_count = 0;
	int error = ask(engine,
			(const char *[]){"network", "ls", "--format", "{{.Name}}", NULL},
			&output, diag);

	if (!error)
		error = read_names(engine, &output, &all, diag);
	if (error)
		return error;
	for (size_t i = 0; i < all.count; i++) {
		bool is_own = false;

		for (size_t j = 0; j < ARRAY_SIZE(own); j++)
			is_own |= strcmp(all.names[i], own[j]) == 0;
		own_count += is_own;
		if (!is_own)
			strcpy(list.names[list.count++], all.names[i]);
	}
	if (own_count != ARRAY_SIZE(own))
		return diag_fail(diag, 0, ENGINE_PLACE,
				 "its own three networks are not all listed; see 'docker "
				 "network ls'");
	*ret_list = list;
	return 0;
}

int engine_create_network(struct engine *engine, const char *name, const char *label,
			  const char *gateway, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	const char *arguments[16] = {"network", "create",  "--driver",
				     "bridge",  "--label", label};
	char subnet[INET_TEXT_SIZE + 4];
	size_t count = 6;

	if (gateway) {
		uint32_t address;

		if (!inet_is_ipv4(gateway, &address))
			return diag_refuse(
				diag, ENGINE_PLACE,
				"the router's address '%s' is not IPv4; correct the site",
				gateway);
		snprintf(subnet, sizeof(subnet), "%u.%u.%u.0/24", address >> 24,
			 address >> 16 & 0xff, address >> 8 & 0xff);
		arguments[count++] = "--subnet";
		arguments[count++] = subnet;
		arguments[count++] = "--gateway";
		arguments[count++] = gateway;
	}
	arguments[count++] = name;
	arguments[count] = NULL;
	return ask(engine, arguments, &output, diag);
}

/* Removing what is not there succeeds: that is looked up first, by name. */
static bool is_listed(const struct lines_names *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->names[i], name) == 0)
			return true;
	return false;
}

int engine_remove_network(struct engine *engine, const char *name, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	struct lines_names list;
	int error = engine_list_networks(engine, &list, diag);

	if (error || !is_listed(&list, name))
		return error;
	return ask(engine, (const char *[]){"network", "rm", name, NULL}, &output, diag);
}

int engine_remove(struct engine *engine, const char *name, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};

	/* --force: one that is not there is fine, one that runs is killed. */
	return call(engine, (const char *[]){"rm", "--force", "--volumes", name, NULL},
		    &output, diag);
}

int engine_run(struct engine *engine, const struct engine_run *run, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	char user[32], tmpfs[160], volume[SITE_PATH_SIZE + 64], pids[16], memory[24];
	const char *const arguments[] = {"run",
					 "--detach",
					 "--init",
					 "--pull",
					 "never",
					 "--name",
					 run->name,
					 "--hostname",
					 "agent",
					 "--label",
					 run->label,
					 "--network",
					 run->network,
					 "--user",
					 user,
					 "--cap-drop",
					 "ALL",
					 "--security-opt",
					 "no-new-privileges",
					 "--read-only",
					 "--tmpfs",
					 tmpfs,
					 "--ipc",
					 "none",
					 "--pids-limit",
					 pids,
					 "--memory",
					 memory,
					 "--restart",
					 "no",
					 "--log-driver",
					 "none",
					 "--volume",
					 volume,
					 "--entrypoint",
					 "/net-probe",
					 run->image,
					 "net-agent",
					 "--unix",
					 run->socket,
					 NULL};

	snprintf(user, sizeof(user), "%u:%u", run->uid, run->uid);
	snprintf(tmpfs, sizeof(tmpfs),
		 "/agent:rw,noexec,nosuid,nodev,size=64k,mode=0700,"
		 "uid=%u,gid=%u",
		 run->uid, run->uid);
	snprintf(volume, sizeof(volume), "%s:/net-probe:ro", run->runner);
	snprintf(pids, sizeof(pids), "%d", PIDS_LIMIT);
	snprintf(memory, sizeof(memory), "%d", MEMORY_LIMIT);
	return ask(engine, arguments, &output, diag);
}

int engine_inspect(struct engine *engine, const char *name,
		   struct engine_container *ret_container, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	int error = ask(engine,
			(const char *[]){"container", "inspect", "--format",
					 container_template, name, NULL},
			&output, diag);

	return error ? error
		     : decoder_parse(engine->decoder, FORMAT_CONTAINER, output.data,
				     output.size, name, ret_container, diag);
}

int engine_pid(struct engine *engine, pid_t *ret_pid, struct diag *diag)
{
	OWN(own_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t size = sizeof(peer);

	strcpy(address.sun_path, engine->site->engine.socket);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return diag_fail(diag, errno, engine->site->engine.socket,
				 "the engine's socket cannot be reached; start the "
				 "engine as the workload user");
	if (peer.uid != engine->uid)
		return diag_refuse(diag, engine->site->engine.socket,
				   "is served by uid %u, not the workload user "
				   "(rootful?); run the engine as the workload user",
				   peer.uid);
	*ret_pid = peer.pid;
	return 0;
}
