// SPDX-License-Identifier: GPL-2.0-or-later
// A site, its endpoints and a collection's configuration, made for this host.
#include "collector/setup.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "collector/freeids.h"
#include "collector/hostview.h"
#include "collector/netview.h"
#include "common/newfile.h"
#include "common/number.h"
#include "policy/layout.h"
#include "policy/release.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define NO_PREFLIGHT "0000000000000000000000000000000000000000000000000000000000000000"

enum {
	PROXY_PORT = 3128,
	ROUTER_PORT = 8443,
	PORT_TRIES = 100,
	CANDIDATE_UID = 65532, /* "nonroot" of minimal images */
	EXECUTOR_UID = 10001,
	/* 10.203.N.1 and 10.204.N.1: where few networks are. */
	HOST_NETWORK = 203,
	ENGINE_NETWORK = 204,
	NETWORK_TRIES = 256,
};

const char *const setup_part_names[] = {"site", "endpoints", "collection", NULL};

#define NOTE(setup_, key_, value_, what_)                                                \
	buffer_print(&(setup_)->notes, "  %-22s %-40s %s\n", (key_), (value_), (what_))

void setup_release(struct setup *setup)
{
	own_bytes(&setup->site.bytes);
	own_bytes(&setup->endpoints.bytes);
	own_bytes(&setup->collection.bytes);
	own_buffer(&setup->notes);
}

/* --- what the host tells -------------------------------------------------------------
 */

int setup_find_programs(char ret_folder[SITE_PATH_SIZE], struct diag *diag)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (size < 0)
		return diag_fail(diag, errno, "/proc/self/exe", "cannot be read");
	path[size] = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash == path || slash - path >= SITE_PATH_SIZE)
		return diag_refuse(diag, path,
				   "the programs' folder has too long a name; install "
				   "them in /usr/lib/netproof");
	snprintf(ret_folder, SITE_PATH_SIZE, "%.*s", (int)(slash - path), path);
	return 0;
}

/* Levels of cgroups are counted in the one version 2 hierarchy, at its usual place. */
static int check_cgroups(struct diag *diag)
{
	struct statfs status;

	if (statfs(CGROUP_ROOT, &status) != 0)
		return diag_fail(diag, errno, CGROUP_ROOT, "cannot be examined");
	if (status.f_type != CGROUP2_SUPER_MAGIC)
		return diag_refuse(diag, CGROUP_ROOT,
				   "is not a cgroup version 2 hierarchy, by which the "
				   "rules know the worker; boot with "
				   "systemd.unified_cgroup_hierarchy=1");
	return 0;
}

static bool is_file(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* Whether the site's proxy has its unit already: then what listens there is ours. */
static bool has_proxy_unit(const struct site *site)
{
	char path[SITE_UNIT_SIZE + 32];

	snprintf(path, sizeof(path), "/etc/systemd/system/%s", site->proxy_unit);
	return is_file(path);
}

/* The first 10.SECOND.N.1 that this host has itself (from an earlier init), or that no
 * route of it leads to. */
static int find_address(unsigned int second, char ret_text[INET_TEXT_SIZE],
			uint32_t *ret_address, struct diag *diag)
{
	for (uint32_t n = 0; n < NETWORK_TRIES; n++) {
		uint32_t address = 10U << 24 | second << 16 | n << 8 | 1;
		enum netview_route route;
		bool is_routed;
		int error;

		snprintf(ret_text, INET_TEXT_SIZE, "10.%u.%u.1", second, n);
		error = netview_route(-1, ret_text, &route, diag);
		if (!error)
			error = freeids_is_routed(address, &is_routed, diag);
		if (error)
			return error;
		if (route == NETVIEW_ROUTE_LOCAL || !is_routed) {
			*ret_address = address;
			return 0;
		}
	}
	return diag_refuse(diag, "addresses",
			   "10.%u.0.0/16 is in use as a whole; edit "
			   "the site's router and proxy",
			   second);
}

static int find_port(uint32_t address, uint16_t wanted, int64_t *ret_port,
		     struct diag *diag)
{
	for (int port = wanted; port < wanted + PORT_TRIES; port++) {
		bool is_taken;
		int error =
			freeids_is_listening(address, (uint16_t)port, &is_taken, diag);

		if (error)
			return error;
		if (!is_taken) {
			*ret_port = port;
			return 0;
		}
	}
	return diag_refuse(diag, "ports",
			   "none of %u to %u is free; edit the site's "
			   "router and proxy",
			   wanted, wanted + PORT_TRIES - 1);
}

static int find_endpoints(struct site *site, struct diag *diag)
{
	bool is_host = site->router_namespace == SITE_ROUTER_HOST, is_ours;
	uint32_t address, engine;
	int error = find_address(HOST_NETWORK, site->proxy.address, &address, diag);

	is_ours = has_proxy_unit(site);
	if (!error)
		error = find_port(is_ours ? 0 : address, PROXY_PORT, &site->proxy.port,
				  diag);
	if (error)
		return error;
	if (is_host) {
		strcpy(site->router.address, site->proxy.address);
		return find_port(address, ROUTER_PORT, &site->router.port, diag);
	}
	site->router.port = ROUTER_PORT;
	return find_address(ENGINE_NETWORK, site->router.address, &engine, diag);
}

/* --- the site ------------------------------------------------------------------------
 */

static int choose_namespace(const char *text, struct site *site, struct diag *diag)
{
	site->router_namespace = SITE_ROUTER_ROOTLESS_NETNS;
	if (!text || strcmp(text, "rootless-netns") == 0)
		return 0;
	if (strcmp(text, "host") != 0)
		return diag_usage(diag, "--router-namespace",
				  "\"%s\" is neither host nor rootless-netns", text);
	site->router_namespace = SITE_ROUTER_HOST;
	return 0;
}

#define PRINT(to_, ...) ((size_t)snprintf((to_), sizeof(to_), __VA_ARGS__) < sizeof(to_))

static int name_all(const struct setup_request *request, struct site *site,
		    struct diag *diag)
{
	const char *name = request->name;

	/* The table takes no hyphens. */
	if (!PRINT(site->name, "%s", name) || !PRINT(site->workload_user, "%s", name) ||
	    !PRINT(site->worker_unit, "%s-worker.service", name) ||
	    !PRINT(site->guard_unit, "%s-guard.service", name) ||
	    !PRINT(site->proxy_unit, "%s-proxy.service", name) ||
	    !PRINT(site->engine_unit, "docker.service") ||
	    !PRINT(site->table, "%s", name) ||
	    !PRINT(site->engine.socket, "/run/%s/docker.sock", name) ||
	    !PRINT(site->engine.client_config, "%s/docker-client", request->out) ||
	    !PRINT(site->runtime_dir, "/run/%s-worker", name) ||
	    !PRINT(site->profile, "%s/profile.json", request->out) ||
	    !PRINT(site->run_label, "org.netproof.run"))
		return diag_usage(diag, "--name",
				  "\"%s\" makes names that are too long; give a shorter "
				  "one",
				  name);
	for (char *at = site->table; *at; at++)
		if (*at == '-')
			*at = '_';
	site->engine.kind = SITE_ENGINE_DOCKER;
	site->candidate_uid = CANDIDATE_UID;
	site->executor_uid = EXECUTOR_UID;
	return 0;
}

static void note_endpoint(struct setup *setup, const char *key,
			  const struct site_endpoint *endpoint, const char *what)
{
	char text[INET_TEXT_SIZE + 8];

	snprintf(text, sizeof(text), "%s:%u", endpoint->address,
		 (unsigned)endpoint->port);
	NOTE(setup, key, text, what);
}

static int note_account(struct setup *setup, const struct site *site, struct diag *diag)
{
	const struct passwd *account = getpwnam(site->workload_user);
	char text[64];
	uint32_t uid, first;
	int error = 0;

	if (account && account->pw_uid == 0)
		return diag_refuse(diag, site->workload_user,
				   "is uid 0: workloads cannot be root's; give another "
				   "--name");
	if (!account)
		error = freeids_find_uid(&uid, diag);
	else
		uid = account->pw_uid;
	if (!error)
		error = freeids_find_range(&first, diag);
	if (error)
		return error;
	snprintf(text, sizeof(text), "%u%s", uid, account ? "" : " (free)");
	NOTE(setup, "  its uid", text, "not in the file: the account's own");
	snprintf(text, sizeof(text), "%u-%u (free)", first, first + FREEIDS_RANGE - 1);
	NOTE(setup, "  subordinate uids", text,
	     "not in the file: what containers' uids may be, if it has none yet");
	return 0;
}

static int note_site(struct setup *setup, const struct site *site, struct diag *diag)
{
	bool is_host = site->router_namespace == SITE_ROUTER_HOST;
	char uids[32];
	int error;

	buffer_print(&setup->notes, "%s: the names and addresses on this host\n",
		     setup->site.path);
	NOTE(setup, "name", site->name, "what all of it is named after (--name)");
	NOTE(setup, "workload_user", site->workload_user,
	     "the account that untrusted code runs as");
	error = note_account(setup, site, diag);
	if (error)
		return error;
	NOTE(setup, "worker_unit", site->worker_unit,
	     "the trusted service; its start opens the window");
	NOTE(setup, "guard_unit", site->guard_unit,
	     "has the kernel reject everything of that account's, from boot on");
	NOTE(setup, "proxy_unit", site->proxy_unit, "the refusing proxy");
	NOTE(setup, "engine_unit", site->engine_unit,
	     "the rootless engine, in the account's own manager");
	NOTE(setup, "table", site->table, "the one nftables table, family inet");
	NOTE(setup, "engine.socket", site->engine.socket, "the engine's socket");
	NOTE(setup, "engine.client_config", site->engine.client_config,
	     "an empty folder, so that no client configuration counts");
	NOTE(setup, "runtime_dir", site->runtime_dir, "the worker's folder");
	NOTE(setup, "install_dir", site->install_dir, "where these programs are");
	NOTE(setup, "profile", site->profile, "the grant; net-policy issue writes it");
	NOTE(setup, "router_namespace", is_host ? "host" : "rootless-netns",
	     is_host ? "the worker listens on the host: behind slirp4netns that cannot "
		       "match"
		     : "the worker listens where containers are: the engine's network is "
		       "slirp4netns");
	note_endpoint(setup, "router", &site->router,
		      is_host ? "the worker's listener, an address of the host"
			      : "the worker's listener; no route leads there");
	note_endpoint(setup, "proxy", &site->proxy,
		      "an address for the host alone; nothing else uses it");
	snprintf(uids, sizeof(uids), "%d, %d", CANDIDATE_UID, EXECUTOR_UID);
	NOTE(setup, "candidate, executor", uids, "uids inside the containers");
	NOTE(setup, "run_label", site->run_label, "the label on our containers");
	NOTE(setup, "foreign_accepted", "none",
	     "tables of others that may rewrite packets");
	return 0;
}

/* What people edit is indented. */
static int print_document(const json_t *value, struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_pointer) char *text = json_dumps(value, JSON_INDENT(2));

	if (!text)
		return diag_no_memory(diag);
	buffer_print(&buffer, "%s\n", text);
	return buffer_take(&buffer, ret_bytes, diag);
}

static int make_site(const struct setup_request *request, struct setup *setup,
		     struct diag *diag)
{
	OWN(own_json) json_t *value = NULL;
	struct setup_file *file = &setup->site;
	struct layout layout;
	struct site site = {0}, read;
	int error = name_all(request, &site, diag);

	if (!error)
		error = check_cgroups(diag);
	if (!error)
		error = choose_namespace(request->router_namespace, &site, diag);
	if (!error)
		error = setup_find_programs(site.install_dir, diag);
	if (!error)
		error = find_endpoints(&site, diag);
	if (!error)
		error = json_table_encode(&site_table, &site, &value, diag);
	if (!error)
		error = print_document(value, &file->bytes, diag);
	if (!error)
		error = site_parse(file->bytes.data, file->bytes.size, file->path, &read,
				   diag);
	if (!error)
		error = layout_of_site(&read, file->path, &layout, diag);
	return error ? error : note_site(setup, &site, diag);
}

/* --- endpoints -----------------------------------------------------------------------
 */

/* "ADDRESS:PORT" or, where `port` is given, "ADDRESS". */
static int parse_endpoint(const char *option, char *text, uint64_t port, json_t *list,
			  struct diag *diag)
{
	char *colon = port ? NULL : strchr(text, ':');
	uint32_t address;

	if (colon)
		*colon = '\0';
	if (!inet_is_ipv4(text, &address) ||
	    (!port && (!colon || number_parse(colon + 1, 1, UINT16_MAX, &port) != 0)))
		return diag_usage(diag, option, "\"%s%s%s\" is not %s", text,
				  colon ? ":" : "", colon ? colon + 1 : "",
				  port ? "an IPv4 address"
				       : "ADDRESS:PORT with an IPv4 address");
	return json_array_append_new(list, json_pack("{s:s, s:I}", "address", text,
						     "port", (json_int_t)port)) == 0
		       ? 0
		       : diag_no_memory(diag);
}

static int parse_list(const char *option, const char *text, uint64_t port, json_t *list,
		      struct diag *diag)
{
	OWN(own_pointer) char *copy = strdup(text ? text : "");
	char *rest;
	int error = copy ? 0 : diag_no_memory(diag);

	for (char *item = error ? NULL : strtok_r(copy, ",", &rest); item && !error;
	     item = strtok_r(NULL, ",", &rest))
		error = parse_endpoint(option, item, port, list, diag);
	return error;
}

static int make_endpoints(const struct setup_request *request, struct setup *setup,
			  struct diag *diag)
{
	OWN(own_json)
	json_t *value =
		json_pack("{s:s, s:[], s:[], s:b}", "schema", "netproof.endpoints.v1",
			  "trusted_tcp", "trusted_dns", "trusted_loopback_tcp", 0);
	struct setup_file *file = &setup->endpoints;
	struct profile_endpoints read;
	int error;

	if (!value)
		return diag_no_memory(diag);
	if (!request->trusted)
		return diag_usage(diag, "--trusted",
				  "missing: which addresses the worker may reach is the "
				  "operator's to say; give ADDRESS:PORT, several with "
				  "commas");
	error = parse_list("--trusted", request->trusted, 0,
			   json_object_get(value, "trusted_tcp"), diag);
	if (!error)
		error = parse_list("--dns", request->dns, 53,
				   json_object_get(value, "trusted_dns"), diag);
	if (!error)
		error = print_document(value, &file->bytes, diag);
	if (!error)
		error = profile_parse_endpoints(file->bytes.data, file->bytes.size,
						file->path, &read, diag);
	if (error)
		return error;
	buffer_print(&setup->notes,
		     "%s: what the worker may reach while a window is open\n",
		     file->path);
	NOTE(setup, "trusted_tcp", request->trusted, "TCP endpoints (--trusted)");
	NOTE(setup, "trusted_dns", request->dns ? request->dns : "none",
	     "resolvers that it may ask (--dns)");
	NOTE(setup, "trusted_loopback_tcp", "false", "nothing on 127.0.0.0/8");
	return 0;
}

/* --- the collection ------------------------------------------------------------------
 */

static int find_release(const struct setup_request *request, const char *programs,
			struct collection *config, struct diag *diag)
{
	const char *const folders[] = {programs, "/usr/share/netproof", "/etc/netproof"};
	const char *path = request->release;
	struct release release;

	for (size_t i = 0; !path && i < ARRAY_SIZE(folders); i++)
		if (PRINT(config->release, "%s/release.json", folders[i]) &&
		    is_file(config->release))
			path = config->release;
	if (!path)
		return diag_usage(diag, "--release",
				  "missing: there is no release.json in %s, "
				  "/usr/share/netproof or /etc/netproof; give its path",
				  programs);
	if (path != config->release && !PRINT(config->release, "%s", path))
		return diag_usage(diag, "--release",
				  "the path is too long; use a shorter one");
	return release_read(config->release, 0, &release, config->release_sha256, diag);
}

static void note_collection(struct setup *setup, const struct collection *config)
{
	buffer_print(&setup->notes, "%s: what is collected, and on which host\n",
		     setup->collection.path);
	NOTE(setup, "site", config->site, "the site file");
	NOTE(setup, "release", config->release, "the release that is installed");
	NOTE(setup, "release_sha256", config->release_sha256, "its digest");
	NOTE(setup, "profile", config->profile, "the grant");
	NOTE(setup, "store", config->store, "where records and preflights are kept");
	NOTE(setup, "machine_id_sha256", config->machine_id_sha256, "this machine");
	NOTE(setup, "boot_id", config->boot_id, "this boot");
	NOTE(setup, "pre_collection_preflight", "none yet",
	     "net-preflight --config FILE --pin writes it");
}

static int print_collection(const struct collection *config, struct bytes *ret_bytes,
			    struct diag *diag)
{
	OWN(own_json) json_t *value = NULL;
	OWN(own_bytes) struct bytes canonical = {0};
	json_error_t ignored;
	int error = collection_write(config, &canonical, diag);

	if (error)
		return error;
	value = json_loadb(canonical.data, canonical.size, 0, &ignored);
	return value ? print_document(value, ret_bytes, diag) : diag_no_memory(diag);
}

int setup_pin(const char *path, const struct collection *config, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	char made[SITE_PATH_SIZE + 8];
	int error = print_collection(config, &bytes, diag);

	if (!error && !PRINT(made, "%s.new", path))
		error = diag_refuse(diag, path,
				    "the path is too long; use a shorter one");
	if (error)
		return error;
	/* One that a crash left is as good as none. */
	if (unlink(made) != 0 && errno != ENOENT)
		return diag_fail(diag, errno, made, "cannot be removed");
	error = newfile_write(made, 0644, bytes.data, bytes.size, "remove it", diag);
	if (!error && rename(made, path) != 0)
		error = diag_fail(diag, errno, path, "cannot be replaced");
	return error;
}

static int make_collection(const struct setup_request *request, struct setup *setup,
			   struct diag *diag)
{
	struct setup_file *file = &setup->collection;
	struct collection config = {0}, read;
	char programs[SITE_PATH_SIZE];
	struct host host;
	int error;

	if (!PRINT(config.site, "%s/site.json", request->out) ||
	    !PRINT(config.profile, "%s/profile.json", request->out) ||
	    !PRINT(config.store, "%s", request->store))
		return diag_usage(diag, "--out",
				  "the path is too long; use a shorter one");
	error = setup_find_programs(programs, diag);
	if (!error)
		error = find_release(request, programs, &config, diag);
	if (!error)
		error = hostview_read(&host, diag);
	if (error)
		return error;
	strcpy(config.machine_id_sha256, host.machine_id_sha256);
	strcpy(config.boot_id, host.boot_id);
	strcpy(config.pre_collection_preflight_sha256, NO_PREFLIGHT);
	error = print_collection(&config, &file->bytes, diag);
	if (!error)
		error = collection_parse(file->bytes.data, file->bytes.size, file->path,
					 &read, diag);
	if (!error)
		note_collection(setup, &config);
	return error;
}

/* --- all of it -----------------------------------------------------------------------
 */

static int name_file(const struct setup_request *request, const char *name,
		     struct setup_file *file, struct diag *diag)
{
	if (!PRINT(file->path, "%s/%s.json", request->out, name))
		return diag_usage(diag, "--out",
				  "the path is too long; use a shorter one");
	return 0;
}

static int refuse_taken(const struct setup_file *file, struct diag *diag)
{
	if (!file->bytes.data || !is_file(file->path))
		return 0;
	return diag_refuse(diag, file->path,
			   "exists, and nothing is ever overwritten; move it away, give "
			   "another --out, or leave it out with --only");
}

int setup_prepare(const struct setup_request *request, struct setup *ret_setup,
		  struct diag *diag)
{
	struct setup *setup = ret_setup;
	int error;

	if (!json_is_clean_path(request->out))
		return diag_usage(diag, "--out", "\"%s\" is not a clean absolute path",
				  request->out);
	error = name_file(request, "site", &setup->site, diag);
	if (!error)
		error = name_file(request, "endpoints", &setup->endpoints, diag);
	if (!error)
		error = name_file(request, "collection", &setup->collection, diag);
	if (!error && (request->parts & SETUP_SITE))
		error = make_site(request, setup, diag);
	if (!error && (request->parts & SETUP_ENDPOINTS))
		error = make_endpoints(request, setup, diag);
	if (!error && (request->parts & SETUP_COLLECTION))
		error = make_collection(request, setup, diag);
	if (!error)
		error = refuse_taken(&setup->site, diag);
	if (!error)
		error = refuse_taken(&setup->endpoints, diag);
	if (!error)
		error = refuse_taken(&setup->collection, diag);
	return error;
}

static int write_file(const struct setup_file *file, struct diag *diag)
{
	/* None of the three is a secret: the profile is. */
	return file->bytes.data ? newfile_write(file->path, 0644, file->bytes.data,
						file->bytes.size,
						"nothing is ever overwritten", diag)
				: 0;
}

int setup_write(const struct setup_request *request, const struct setup *setup,
		struct diag *diag)
{
	int error;

	if (mkdir(request->out, 0755) != 0 && errno != EEXIST)
		return diag_fail(diag, errno, request->out, "cannot be made");
	error = write_file(&setup->site, diag);
	if (!error)
		error = write_file(&setup->endpoints, diag);
	if (!error)
		error = write_file(&setup->collection, diag);
	return error;
}
