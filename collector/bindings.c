// SPDX-License-Identifier: GPL-2.0-or-later
// All that must hold before anything starts (SPEC 7.1).
#include "collector/bindings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/head.h"
#include "collector/hostview.h"
#include "collector/inspect.h"
#include "collector/lock.h"
#include "collector/probes.h"
#include "common/clock.h"
#include "common/moment.h"
#include "common/protected.h"
#include "common/store.h"

enum {
	PROFILE_AGE_SECONDS = 60, /* SPEC 7.1 */
	WINDOW_MIN_SECONDS = 20,
	WINDOW_MAX_SECONDS = 280,
	PREFLIGHT_AGE_SECONDS = 900,
	PREFLIGHT_PLACE_SIZE = sizeof("preflight ") + DIGEST_TEXT_SIZE,
};

/* --- the operator's files --------------------------------------------------------- */

/* The targets lie beside the release file; the catalog is this program's own. */
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

static int check_config(struct look *look, struct diag *diag)
{
	struct session *session = look->session;
	int error = collection_read(look->config_path, 0, &session->config,
				    session->config_sha256, diag);

	if (error)
		return error;
	strcpy(look->pinned_sha256, session->config.release_sha256);
	session->config_path = look->config_path;
	return 0;
}

static int check_site(struct look *look, struct diag *diag)
{
	struct session *session = look->session;
	const char *path = session->config.site;
	int error = site_read(path, 0, &session->site, session->site_sha256, diag);

	return error ? error
		     : layout_of_site(&session->site, path, &session->layout, diag);
}

static int check_release(struct look *look, struct diag *diag)
{
	struct session *session = look->session;
	const char *path = session->config.release;
	int error = release_read(path, 0, &session->release,
				 session->config.release_sha256, diag);

	session->runner_sha256 = session->release.programs.sha256[RELEASE_NET_PROBE];
	return error ? error : read_beside(session, path, diag);
}

static int check_pin(struct look *look, struct diag *diag)
{
	const struct collection *config = &look->session->config;

	if (strcmp(config->release_sha256, look->pinned_sha256) == 0)
		return 0;
	return diag_refuse(diag, config->release,
			   "is not the release that %s pins; install that one, or pin "
			   "this one and take a new preflight",
			   look->config_path);
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

static int check_store(struct look *look, struct diag *diag)
{
	OWN(own_store) struct store store = STORE_CLOSED;

	return store_open(look->session->config.store, 0, &store, diag);
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

/* --- comparing -------------------------------------------------------------------- */

static void name_preflight(const struct session *session,
			   char ret_place[PREFLIGHT_PLACE_SIZE])
{
	snprintf(ret_place, PREFLIGHT_PLACE_SIZE, "preflight %s",
		 session->config.pre_collection_preflight_sha256);
}

/* What the configuration was written for is this machine, in this boot. */
static int check_same_host(struct look *look, struct diag *diag)
{
	const struct collection *config = &look->session->config;
	const struct host *host = &look->session->host;

	if (strcmp(config->machine_id_sha256, host->machine_id_sha256) != 0)
		return diag_refuse(diag, look->config_path,
				   "machine_id_sha256 is another machine's; write the "
				   "configuration for this one");
	if (strcmp(config->boot_id, host->boot_id) != 0)
		return diag_refuse(diag, look->config_path,
				   "boot_id is another boot's; take a new preflight");
	return 0;
}

static int compare_hosts(const struct session *session, struct diag *diag)
{
	const struct host *host = &session->host, *then = &session->preflight.host;
	char place[PREFLIGHT_PLACE_SIZE];

	name_preflight(session, place);
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

/* What must be as the preflight found it: of another preflight the record could not be
 * verified. */
static int compare_findings(const struct session *session, const struct preflight *now,
			    const char *preflight_place, struct diag *diag)
{
	const struct preflight *then = &session->preflight;
	const struct site *site = &session->site;
	const struct {
		const char *then, *now, *place, *what;
	} facts[] = {
		{then->release_sha256, session->config.release_sha256, preflight_place,
		 "is of another release"},
		{then->site_sha256, session->site_sha256, preflight_place,
		 "is of another site"},
		{then->daemon_sha256, now->daemon_sha256, "container engine",
		 "is not the one of the preflight"},
		{then->guard_kernel_sha256, now->guard_kernel_sha256, site->table,
		 "the guard is not the preflight's"},
		{then->nft_ruleset_semantic_sha256, now->nft_ruleset_semantic_sha256,
		 site->table, "the guard is not the preflight's"},
		{then->nft_foreign_sha256, now->nft_foreign_sha256, "foreign rules",
		 "the rest of the host's rules is not as in the preflight"},
		{then->units.worker.unit_sha256, now->units.worker.unit_sha256,
		 site->worker_unit, "is not made as in the preflight"},
		{then->units.guard.unit_sha256, now->units.guard.unit_sha256,
		 site->guard_unit, "is not made as in the preflight"},
		{then->units.proxy.unit_sha256, now->units.proxy.unit_sha256,
		 site->proxy_unit, "is not made as in the preflight"},
		{then->units.engine.unit_sha256, now->units.engine.unit_sha256,
		 site->engine_unit, "is not made as in the preflight"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (strcmp(facts[i].then, facts[i].now) != 0)
			return diag_refuse(diag, facts[i].place,
					   "%s; take a new preflight", facts[i].what);
	return 0;
}

static int compare_preflights(const struct session *session, const struct preflight *now,
			      struct diag *diag)
{
	const struct preflight *then = &session->preflight;
	int64_t age = session_now() - then->checked_at_unix;
	char place[PREFLIGHT_PLACE_SIZE], moment[MOMENT_SIZE];

	name_preflight(session, place);
	if (age < 0)
		return diag_refuse(
			diag, place,
			"is from the future; mind the clock and take a new one");
	if (age > PREFLIGHT_AGE_SECONDS)
		return diag_refuse(diag, place,
				   "is %lld s old (of %s), more than %d; take a new one",
				   (long long)age,
				   moment_format(then->checked_at_unix, moment),
				   PREFLIGHT_AGE_SECONDS);
	return compare_findings(session, now, place, diag);
}

static int check_window(const struct session *session, struct diag *diag)
{
	const struct profile *profile = &session->profile;
	const char *place = session->config.profile;
	int64_t now = session_now();
	char moment[MOMENT_SIZE];
	int64_t window = profile->expires_at_unix - profile->issued_at_unix;
	int error;

	if (now - profile->issued_at_unix > PROFILE_AGE_SECONDS)
		return diag_refuse(diag, place,
				   "was issued %lld s ago (%s), more than %d; issue a "
				   "new one",
				   (long long)(now - profile->issued_at_unix),
				   moment_format(profile->issued_at_unix, moment),
				   PROFILE_AGE_SECONDS);
	if (window < WINDOW_MIN_SECONDS || window > WINDOW_MAX_SECONDS)
		return diag_refuse(
			diag, place, "a window of %lld s, not %d to %d; issue a new one",
			(long long)window, WINDOW_MIN_SECONDS, WINDOW_MAX_SECONDS);
	error = profile_check(profile, &session->site, PROFILE_MODE_NETWORK_ENFORCEMENT,
			      clock_wall_ms(), place, diag);
	return error;
}

/* --- the table --------------------------------------------------------------------- */

static int check_preflight(struct look *look, struct diag *diag)
{
	int error = read_preflight(look->session, diag);

	if (!error)
		error = compare_hosts(look->session, diag);
	if (!error)
		error = compare_preflights(look->session, look->found, diag);
	return error;
}

static int check_profile(struct look *look, struct diag *diag)
{
	int error = read_profiles(look->session, diag);

	return error ? error : check_window(look->session, diag);
}

static int check_host(struct look *look, struct diag *diag)
{
	return hostview_read(&look->session->host, diag);
}

static int check_programs(struct look *look, struct diag *diag)
{
	return inspect_programs(look->session, &look->found->programs, diag);
}

static int check_unit_files(struct look *look, struct diag *diag)
{
	return inspect_unit_files(look->session, diag);
}

static int check_unit_loads(struct look *look, struct diag *diag)
{
	return inspect_unit_loads(look->session, diag);
}

static int check_account(struct look *look, struct diag *diag)
{
	return inspect_account(look->session, diag);
}

static int check_ranges(struct look *look, struct diag *diag)
{
	const struct session *session = look->session;
	int error = inspect_ranges(look->session, diag);

	if (error || session->subjects.count > 1 ||
	    session->subjects.ranges[0].first != session->subjects.ranges[0].last)
		return error;
	return diag_refuse(diag, "/etc/subuid",
			   "gives %s no subordinate uids, which a rootless engine needs; "
			   "'usermod --add-subuids FIRST-LAST --add-subgids FIRST-LAST "
			   "%s'",
			   session->site.workload_user, session->site.workload_user);
}

static int check_worker(struct look *look, struct diag *diag)
{
	return inspect_worker(look->session, diag);
}

static int check_guard(struct look *look, struct diag *diag)
{
	return inspect_guard(look->session, &look->found->units.guard, diag);
}

static int check_addresses(struct look *look, struct diag *diag)
{
	return inspect_addresses(look->session, diag);
}

static int check_proxy(struct look *look, struct diag *diag)
{
	return inspect_proxy(look->session, &look->found->units.proxy, diag);
}

static int check_manager(struct look *look, struct diag *diag)
{
	return inspect_manager(look->session, diag);
}

static int check_engine_unit(struct look *look, struct diag *diag)
{
	return inspect_engine_unit(look->session, &look->found->units.engine, diag);
}

static int check_engine(struct look *look, struct diag *diag)
{
	return inspect_engine(look->session, look->found, diag);
}

static int check_worker_idle(struct look *look, struct diag *diag)
{
	return inspect_worker_idle(look->session, &look->found->units.worker, diag);
}

static int check_engine_idle(struct look *look, struct diag *diag)
{
	return inspect_engine_idle(look->session, diag);
}

static int check_image(struct look *look, struct diag *diag)
{
	return inspect_image(look->session, look->found->candidate_image_id, diag);
}

static int check_rules(struct look *look, struct diag *diag)
{
	return inspect_rules(look->session, look->found, diag);
}

static int check_sockets(struct look *look, struct diag *diag)
{
	return inspect_workload(look->session,
				&look->session->record.preconditions.foreign_sockets,
				diag);
}

/* --- what a survey looks at beside ------------------------------------------------- */

static int check_packages(struct look *look, struct diag *diag)
{
	static const char *const programs[] = {
		"/usr/bin/docker", "/usr/sbin/dockerd", "/usr/bin/rootlesskit",
		"/usr/bin/slirp4netns", "/usr/bin/newuidmap"};

	(void)look;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (access(programs[i], X_OK) != 0)
			return diag_refuse(diag, programs[i],
					   "is not there: the rootless engine needs it; "
					   "install its package");
	return 0;
}

static int check_endpoints(struct look *look, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct profile_endpoints endpoints;
	int error = protected_read(look->endpoints_path, 0, PROTECTED_FILE, PROFILE_LIMIT,
				   &bytes, diag);

	return error ? error
		     : profile_parse_endpoints(bytes.data, bytes.size,
					       look->endpoints_path, &endpoints, diag);
}

static int check_folders(struct look *look, struct diag *diag)
{
	const struct session *session = look->session;
	const char *const folders[] = {
		session->site.runtime_dir, session->layout.engine_socket_dir,
		session->layout.state_dir, session->site.engine.client_config};
	struct stat status;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (stat(folders[i], &status) != 0 || !S_ISDIR(status.st_mode))
			return diag_refuse(diag, folders[i],
					   "there is no such folder; 'systemd-tmpfiles "
					   "--create'");
	return 0;
}

/* The lock is taken for a moment, as a reader, and only where it is. */
static int check_journal(struct look *look, struct diag *diag)
{
	OWN(own_fd) int folder = -1;
	OWN(own_fd) int lock = -1;
	bool exists;
	int error;

	(void)look;
	if (access(LOCK_FOLDER, F_OK) != 0)
		return errno == ENOENT
			       ? 0
			       : diag_fail(diag, errno, LOCK_FOLDER, "cannot be seen");
	error = protected_open_directory(LOCK_FOLDER, 0, PROTECTED_PRIVATE, &folder,
					 diag);
	if (!error)
		error = journal_exists(folder, &exists, diag);
	if (error)
		return error;
	lock = openat(folder, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0)
		return diag_refuse(diag, NULL,
				   "a collection is running; wait for its end");
	return exists ? diag_refuse(diag, LOCK_FOLDER "/journal",
				    "an earlier collection was cut short; run "
				    "'net-collector recover' first")
		      : 0;
}

#define NEEDS(binding_) (1U << BINDING_##binding_)
#define ALL_BEFORE(binding_) (NEEDS(binding_) - 1)

static const struct {
	int (*check)(struct look *look, struct diag *diag);
	unsigned int needs; /* without these it cannot be looked at */
} rows[BINDING_COUNT] = {
	[BINDING_PACKAGES] = {check_packages, 0},
	[BINDING_CONFIG] = {check_config, 0},
	[BINDING_SITE] = {check_site, NEEDS(CONFIG)},
	[BINDING_ENDPOINTS] = {check_endpoints, NEEDS(CONFIG)},
	[BINDING_RELEASE] = {check_release, NEEDS(CONFIG)},
	[BINDING_HOST] = {check_host, 0},
	[BINDING_PROGRAMS] = {check_programs, NEEDS(SITE) | NEEDS(RELEASE)},
	[BINDING_UNIT_FILES] = {check_unit_files, NEEDS(SITE) | NEEDS(PROGRAMS)},
	[BINDING_UNIT_LOADS] = {check_unit_loads, NEEDS(UNIT_FILES)},
	[BINDING_ACCOUNT] = {check_account, NEEDS(UNIT_FILES)},
	[BINDING_RANGES] = {check_ranges, NEEDS(ACCOUNT)},
	[BINDING_FOLDERS] = {check_folders, NEEDS(ACCOUNT)},
	[BINDING_WORKER] = {check_worker, NEEDS(UNIT_LOADS)},
	[BINDING_GUARD] = {check_guard, NEEDS(UNIT_LOADS) | NEEDS(RANGES)},
	[BINDING_ADDRESSES] = {check_addresses, NEEDS(SITE)},
	[BINDING_PROXY] = {check_proxy, NEEDS(UNIT_LOADS) | NEEDS(ADDRESSES)},
	[BINDING_MANAGER] = {check_manager, NEEDS(GUARD)},
	[BINDING_ENGINE_UNIT] = {check_engine_unit, NEEDS(MANAGER)},
	[BINDING_ENGINE] = {check_engine, NEEDS(ENGINE_UNIT)},
	[BINDING_JOURNAL] = {check_journal, NEEDS(ENGINE)},
	[BINDING_WORKER_IDLE] = {check_worker_idle, NEEDS(UNIT_LOADS) | NEEDS(JOURNAL)},
	[BINDING_ENGINE_IDLE] = {check_engine_idle, NEEDS(ENGINE) | NEEDS(JOURNAL)},
	[BINDING_IMAGE] = {check_image, NEEDS(ENGINE)},
	[BINDING_RULES] = {check_rules, NEEDS(GUARD) | NEEDS(WORKER_IDLE)},
	[BINDING_STORE] = {check_store, NEEDS(CONFIG)},
	[BINDING_SOCKETS] = {check_sockets, NEEDS(RANGES)},
	/* What ages is looked at last: it is to be made last. */
	[BINDING_PIN] = {check_pin, ALL_BEFORE(PIN)},
	[BINDING_SAME_HOST] = {check_same_host, ALL_BEFORE(PIN)},
	[BINDING_PREFLIGHT] = {check_preflight, ALL_BEFORE(PIN)},
	[BINDING_PROFILE] = {check_profile, ALL_BEFORE(PROFILE)},
};

/* What is only in a configuration. */
#define COLLECTION_ONLY                                                                  \
	(NEEDS(CONFIG) | NEEDS(STORE) | NEEDS(PIN) | NEEDS(SAME_HOST) |                  \
	 NEEDS(PREFLIGHT) | NEEDS(PROFILE) | NEEDS(SOCKETS))

/* What is no binding of SPEC 7.1, but has to be done on the way to one. */
#define SURVEY_ONLY (NEEDS(PACKAGES) | NEEDS(ENDPOINTS) | NEEDS(FOLDERS) | NEEDS(JOURNAL))

void bindings_survey(struct look *look,
		     void (*on_binding)(void *context, enum binding binding,
					enum binding_state state,
					const struct diag *diag),
		     void *context)
{
	unsigned int held = 0;

	for (enum binding i = 0; i < BINDING_COUNT; i++) {
		enum binding_state state = BINDING_UNSEEN;
		struct diag diag = {0};

		if ((held & rows[i].needs) == rows[i].needs)
			state = rows[i].check(look, &diag) ? BINDING_BROKEN
							   : BINDING_HELD;
		if (state == BINDING_HELD)
			held |= 1U << i;
		on_binding(context, i, state, &diag);
	}
}

static int check_all(struct look *look, unsigned int left_out, struct diag *diag)
{
	int error = 0;

	for (enum binding i = 0; !error && i < BINDING_COUNT; i++)
		if (!(left_out & 1U << i))
			error = rows[i].check(look, diag);
	return error;
}

/* --- the three uses ---------------------------------------------------------------- */

static void fill_found(const struct session *session, struct preflight *found)
{
	found->host = session->host;
	strcpy(found->site_sha256, session->site_sha256);
	strcpy(found->release_sha256, session->config.release_sha256);
	strcpy(found->catalog_sha256, session->release.catalog_sha256);
	strcpy(found->targets_sha256, session->release.targets_sha256);
	found->checked_at_unix = session_now();
}

int bindings_inspect(struct session *session, const char *site_path,
		     const char *release_path, struct preflight *ret_preflight,
		     struct diag *diag)
{
	OWN(own_pointer) struct preflight *found = calloc(1, sizeof(*found));
	struct look look = {.session = session, .found = found};
	int error;

	if (!found)
		return diag_no_memory(diag);
	/* What the checks and the session's other users find under these names. */
	if (strlen(site_path) >= sizeof(session->config.site) ||
	    strlen(release_path) >= sizeof(session->config.release))
		return diag_refuse(diag, site_path, "too long a path; use a shorter one");
	strcpy(session->config.site, site_path);
	strcpy(session->config.release, release_path);
	error = check_all(&look, SURVEY_ONLY | COLLECTION_ONLY, diag);
	if (error)
		return error;
	fill_found(session, found);
	*ret_preflight = *found;
	return 0;
}

int bindings_check(struct session *session, const char *config_path, struct diag *diag)
{
	OWN(own_pointer) struct preflight *found = calloc(1, sizeof(*found));
	struct look look = {
		.session = session, .found = found, .config_path = config_path};
	int error = found ? check_all(&look, SURVEY_ONLY, diag) : diag_no_memory(diag);

	if (!error)
		error = head_fill(session, diag);
	if (error)
		return error;
	fill_found(session, found);
	head_fill_preconditions(session, found);
	session->probes_all = probes_count_all(&session->profile);
	return 0;
}
