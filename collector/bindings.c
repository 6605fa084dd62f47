// SPDX-License-Identifier: GPL-2.0-or-later
// All that must hold before anything starts (SPEC 7.1).
#include "collector/bindings.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <nftables/libnftables.h>

#include "collector/hostview.h"
#include "collector/inspect.h"
#include "collector/probes.h"
#include "collector/rules.h"
#include "common/clock.h"
#include "common/protected.h"
#include "common/store.h"

enum {
	PROFILE_AGE_SECONDS = 60, /* SPEC 7.1 */
	WINDOW_MIN_SECONDS = 20,
	WINDOW_MAX_SECONDS = 280,
	PREFLIGHT_AGE_SECONDS = 900,
	PROGRAM_LIMIT = 256 << 20,
	PREFLIGHT_PLACE_SIZE = sizeof("preflight ") + DIGEST_TEXT_SIZE,
};

/* --- the operator's files --------------------------------------------------------- */

/* The catalog and the targets lie beside the release file. */
static int read_beside(struct session *session, const char *release_path,
		       struct diag *diag)
{
	const char *slash = strrchr(release_path, '/');
	char path[COLLECTION_PATH_SIZE + 32], sha256[DIGEST_TEXT_SIZE];
	int error;

	snprintf(path, sizeof(path), "%.*s/targets.json", (int)(slash - release_path),
		 release_path);
	error = targets_read(path, 0, &session->targets, sha256, diag);
	if (!error && strcmp(sha256, session->release.targets_sha256) != 0)
		error = diag_refuse(diag, path,
				    "is not the release's; install the release again");
	if (!error)
		error = catalog_builtin_digest(sha256, diag);
	if (!error && strcmp(sha256, session->release.catalog_sha256) != 0)
		error = diag_refuse(diag, release_path,
				    "names another catalog than this program's; install "
				    "the release again");
	return error;
}

int bindings_read_site(struct session *session, const char *site_path,
		       const char *release_path, struct diag *diag)
{
	int error = site_read(site_path, 0, &session->site, session->site_sha256, diag);

	/* What the session's other users find under these names. */
	if (strlen(site_path) >= sizeof(session->config.site) ||
	    strlen(release_path) >= sizeof(session->config.release))
		return diag_refuse(diag, site_path, "too long a path");
	memmove(session->config.site, site_path, strlen(site_path) + 1);
	memmove(session->config.release, release_path, strlen(release_path) + 1);
	if (!error)
		error = layout_of_site(&session->site, site_path, &session->layout, diag);
	if (!error)
		error = release_read(release_path, 0, &session->release,
				     session->config.release_sha256, diag);
	session->runner_sha256 = session->release.programs.sha256[RELEASE_NET_PROBE];
	return error ? error : read_beside(session, release_path, diag);
}

static int read_profiles(struct session *session, struct diag *diag)
{
	struct profile installed;
	int error = profile_read(session->config.profile, 0, &session->profile, diag);

	if (!error)
		error = profile_read(session->site.profile, 0, &installed, diag);
	if (!error && strcmp(installed.sha256, session->profile.sha256) != 0)
		error = diag_refuse(
			diag, session->config.profile,
			"is not the installed profile %s; issue a new one there",
			session->site.profile);
	return error;
}

static int read_preflight(struct session *session, struct diag *diag)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	OWN(own_bytes) struct bytes bytes = {0};
	const char *sha256 = session->config.pre_collection_preflight_sha256;
	int error = store_open(session->config.store, 0, &store, diag);

	if (!error)
		error = store_get(&store, sha256, PREFLIGHT_LIMIT, &bytes, diag);
	if (!error)
		error = preflight_parse(bytes.data, bytes.size, sha256,
					&session->preflight, diag);
	return error;
}

int bindings_read(struct session *session, const char *config_path, struct diag *diag)
{
	struct collection *config = &session->config;
	char pinned[DIGEST_TEXT_SIZE], site[COLLECTION_PATH_SIZE],
		release[COLLECTION_PATH_SIZE];
	int error = collection_read(config_path, 0, config, session->config_sha256, diag);

	if (error)
		return error;
	strcpy(pinned, config->release_sha256);
	strcpy(site, config->site);
	strcpy(release, config->release);
	session->config_path = config_path;
	error = bindings_read_site(session, site, release, diag);
	if (!error && strcmp(config->release_sha256, pinned) != 0)
		error = diag_refuse(diag, release,
				    "is not the release that %s pins; install that one, "
				    "or pin this one and take a new preflight",
				    config_path);
	if (!error)
		error = read_profiles(session, diag);
	if (!error)
		error = read_preflight(session, diag);
	return error;
}

/* --- the host --------------------------------------------------------------------- */

int bindings_inspect(struct session *session, struct preflight *ret_preflight,
		     struct diag *diag)
{
	OWN(own_pointer) struct preflight *found = calloc(1, sizeof(*found));
	int error = found ? 0 : diag_no_memory(diag);

	if (!error)
		error = hostview_read(&session->host, diag);
	if (!error)
		error = inspect_accounts(session, diag);
	if (!error)
		error = inspect_programs(session, &found->programs, diag);
	if (!error)
		error = inspect_units(session, &found->units, diag);
	if (!error)
		error = inspect_engine(session, found, diag);
	if (!error)
		error = inspect_rules(session, found, diag);
	if (error)
		return error;
	found->host = session->host;
	strcpy(found->site_sha256, session->site_sha256);
	strcpy(found->release_sha256, session->config.release_sha256);
	strcpy(found->catalog_sha256, session->release.catalog_sha256);
	strcpy(found->targets_sha256, session->release.targets_sha256);
	found->checked_at_unix = session_now();
	*ret_preflight = *found;
	return 0;
}

/* --- comparing -------------------------------------------------------------------- */

static void name_preflight(const struct session *session,
			   char ret_place[PREFLIGHT_PLACE_SIZE])
{
	snprintf(ret_place, PREFLIGHT_PLACE_SIZE, "preflight %s",
		 session->config.pre_collection_preflight_sha256);
}

static int check_host(const struct session *session, struct diag *diag)
{
	const struct collection *config = &session->config;
	const struct host *host = &session->host, *then = &session->preflight.host;
	char place[PREFLIGHT_PLACE_SIZE];

	name_preflight(session, place);
	if (strcmp(config->machine_id_sha256, host->machine_id_sha256) != 0)
		return diag_refuse(diag, session->config_path,
				   "machine_id_sha256 is another machine's; write the "
				   "configuration for this one");
	if (strcmp(config->boot_id, host->boot_id) != 0)
		return diag_refuse(diag, session->config_path,
				   "boot_id is another boot's; take a new preflight");
	if (strcmp(then->machine_id_sha256, host->machine_id_sha256) != 0)
		return diag_refuse(diag, place, "is another machine's; take a new one");
	if (strcmp(then->boot_id, host->boot_id) != 0)
		return diag_refuse(diag, place, "is another boot's; take a new one");
	if (strcmp(then->kernel, host->kernel) != 0)
		return diag_refuse(diag, place,
				   "was taken under kernel %s, not %s; take a new one",
				   then->kernel, host->kernel);
	return 0;
}

static int check_preflight(const struct session *session, const struct preflight *now,
			   struct diag *diag)
{
	const struct preflight *then = &session->preflight;
	int64_t age = now->checked_at_unix - then->checked_at_unix;
	char place[PREFLIGHT_PLACE_SIZE];

	name_preflight(session, place);
	if (age < 0)
		return diag_refuse(
			diag, place,
			"is from the future; mind the clock and take a new one");
	if (age > PREFLIGHT_AGE_SECONDS)
		return diag_refuse(diag, place,
				   "is %lld s old, more than %d; take a new one",
				   (long long)age, PREFLIGHT_AGE_SECONDS);
	if (strcmp(then->release_sha256, now->release_sha256) != 0)
		return diag_refuse(diag, place, "is of another release; take a new one");
	if (strcmp(then->site_sha256, now->site_sha256) != 0)
		return diag_refuse(diag, place, "is of another site; take a new one");
	if (strcmp(then->daemon_sha256, now->daemon_sha256) != 0)
		return diag_refuse(
			diag, "container engine",
			"is not the one of the preflight; take a new preflight");
	if (strcmp(then->guard_kernel_sha256, now->guard_kernel_sha256) != 0 ||
	    strcmp(then->nft_ruleset_semantic_sha256, now->nft_ruleset_semantic_sha256) !=
		    0)
		return diag_refuse(
			diag, session->site.table,
			"the guard is not the preflight's; take a new preflight");
	return 0;
}

static int check_profile(const struct session *session, struct diag *diag)
{
	const struct profile *profile = &session->profile;
	const char *place = session->config.profile;
	int64_t now = session_now();
	int64_t window = profile->expires_at_unix - profile->issued_at_unix;
	int error;

	if (now - profile->issued_at_unix > PROFILE_AGE_SECONDS)
		return diag_refuse(diag, place,
				   "was issued %lld s ago, more than %d; issue a new one",
				   (long long)(now - profile->issued_at_unix),
				   PROFILE_AGE_SECONDS);
	if (window < WINDOW_MIN_SECONDS || window > WINDOW_MAX_SECONDS)
		return diag_refuse(
			diag, place, "a window of %lld s, not %d to %d; issue a new one",
			(long long)window, WINDOW_MIN_SECONDS, WINDOW_MAX_SECONDS);
	error = profile_check(profile, &session->site, PROFILE_MODE_NETWORK_ENFORCEMENT,
			      clock_wall_ms(), place, diag);
	return error;
}

/* --- the record's head ------------------------------------------------------------ */

static int digest_program(const char *path, char ret_sha256[DIGEST_TEXT_SIZE],
			  struct diag *diag)
{
	OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, path, "cannot be opened");
	return digest_fd(fd, PROGRAM_LIMIT, path, ret_sha256, diag);
}

/* libnftables tells no version: the file's full name does. */
static void name_library(char *ret_name, size_t size)
{
	OWN(own_pointer) char *path = NULL;
	Dl_info info;

	/* A function's address as data: what dladdr() is for, and ISO C has no cast for.
	 * NOLINTNEXTLINE(performance-no-int-to-ptr) */
	if (dladdr((void *)(uintptr_t)nft_ctx_new, &info))
		path = realpath(info.dli_fname, NULL);
	snprintf(ret_name, size, "%.64s",
		 path && strrchr(path, '/') ? strrchr(path, '/') + 1 : "unknown");
}

static int fill_tools(struct session *session, struct diag *diag)
{
	struct record_tools *tools = &session->record.tools;
	char version[UNITS_TEXT_SIZE];
	int error = digest_program("/proc/self/exe", tools->collector_sha256, diag);

	if (!error)
		error = digest_program(ENGINE_CLIENT, tools->engine_client_sha256, diag);
	if (!error)
		error = units_version(&session->units, version, diag);
	if (error)
		return error;
	snprintf(tools->systemd, sizeof(tools->systemd), "%.64s", version);
	name_library(tools->libnftables, sizeof(tools->libnftables));
	return 0;
}

static int add_endpoint(struct record *record, const struct profile *profile,
			const char *address, int64_t port, enum endpoint_role role,
			struct diag *diag)
{
	struct record_endpoint *endpoint = &record->endpoints[record->endpoint_count++];

	endpoint->role = (int)role;
	return endpoint_digest(profile->label_key, address, port, role,
			       endpoint->endpoint_sha256, diag);
}

static int fill_endpoints(struct session *session, struct diag *diag)
{
	const struct profile *profile = &session->profile;
	const struct site *site = &session->site;
	struct record *record = &session->record;
	int error = 0;

	for (size_t i = 0; !error && i < profile->trusted_tcp_count; i++)
		error = add_endpoint(record, profile, profile->trusted_tcp[i].address,
				     profile->trusted_tcp[i].port,
				     ENDPOINT_ROLE_TRUSTED_TCP, diag);
	for (size_t i = 0; !error && i < profile->trusted_dns_count; i++)
		error = add_endpoint(record, profile, profile->trusted_dns[i].address,
				     profile->trusted_dns[i].port,
				     ENDPOINT_ROLE_TRUSTED_DNS, diag);
	if (!error)
		error = add_endpoint(record, profile, site->router.address,
				     site->router.port, ENDPOINT_ROLE_ROUTER, diag);
	if (!error)
		error = add_endpoint(record, profile, site->proxy.address,
				     site->proxy.port, ENDPOINT_ROLE_PROXY, diag);
	return error;
}

static void fill_preconditions(struct session *session, const struct preflight *now,
			       const struct record_comparison *guard)
{
	struct record_preconditions *found = &session->record.preconditions;

	found->checked_at_unix = now->checked_at_unix;
	strcpy(found->daemon_sha256, now->daemon_sha256);
	strcpy(found->worker_active_state, now->units.worker.active_state);
	strcpy(found->guard_active_state, now->units.guard.active_state);
	strcpy(found->proxy_active_state, now->units.proxy.active_state);
	strcpy(found->guard_ruleset_sha256, guard->ruleset_sha256);
	strcpy(found->guard_kernel_sha256, guard->kernel_sha256);
	strcpy(found->foreign_sha256, guard->foreign_sha256);
	found->workload_uid = session->uid;
	for (size_t i = 0; i < session->subjects.count &&
			   found->subordinate_uid_count < RECORD_RANGES_MAX;
	     i++) {
		const struct subject_range *range = &session->subjects.ranges[i];

		if (range->first == range->last && range->first == session->uid)
			continue;
		found->subordinate_uids[found->subordinate_uid_count++] =
			(struct record_range){range->first,
					      (int64_t)range->last - range->first + 1};
	}
	found->containers = now->containers;
	found->job_networks = now->job_networks;
}

static int fill_head(struct session *session, struct diag *diag)
{
	struct record *record = &session->record;
	const struct release *release = &session->release;
	int error;

	record->kind = RECORD_NETWORK_ENFORCEMENT;
	record_set_coverage(record,
			    session->site.router_namespace == SITE_ROUTER_ROOTLESS_NETNS);
	strcpy(record->catalog_sha256, release->catalog_sha256);
	strcpy(record->site_sha256, session->site_sha256);
	record->host = session->host;
	strcpy(record->release.release_sha256, session->config.release_sha256);
	strcpy(record->release.version, release->version);
	strcpy(record->release.source_revision, release->source_revision);
	strcpy(record->release.probe_runner_sha256, session->runner_sha256);
	strcpy(record->release.targets_sha256, release->targets_sha256);
	strcpy(record->release.candidate_image_id, release->candidate_image.id);
	strcpy(record->pre_collection_preflight_sha256,
	       session->config.pre_collection_preflight_sha256);
	strcpy(record->inputs.config_sha256, session->config_sha256);
	strcpy(record->inputs.profile_sha256, session->profile.sha256);
	record->inputs.issued_at_unix = session->profile.issued_at_unix;
	record->inputs.expires_at_unix = session->profile.expires_at_unix;
	error = fill_tools(session, diag);
	return error ? error : fill_endpoints(session, diag);
}

int bindings_check(struct session *session, struct diag *diag)
{
	OWN(own_pointer) struct preflight *now = calloc(1, sizeof(*now));
	int error = now ? 0 : diag_no_memory(diag);

	if (!error)
		error = hostview_read(&session->host, diag);
	if (!error)
		error = check_host(session, diag);
	if (!error)
		error = bindings_inspect(session, now, diag);
	if (!error)
		error = check_preflight(session, now, diag);
	if (!error)
		error = check_profile(session, diag);
	if (!error)
		error = hostview_check_sockets(
			&session->subjects,
			&session->record.preconditions.foreign_sockets, diag);
	if (!error)
		error = fill_head(session, diag);
	if (error)
		return error;
	fill_preconditions(session, now, &session->guard);
	session->probes_all = probes_count_all(&session->profile);
	return 0;
}
