// SPDX-License-Identifier: GPL-2.0-or-later
// What still stands between this host and a collection, and what to do about it.
#include "collector/doctor.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/freeids.h"
#include "collector/netview.h"
#include "collector/setup.h"

/* What a line is made from. A remedy prints a command, or nothing: then it is by hand. */
struct remedy {
	const struct doctor *doctor;
	const struct look *look;
	const struct session *session;
	const struct diag *diag;
	struct buffer *out;
};

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* One word of a shell command, quoted where it must be. */
static void put_word(struct buffer *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:@%+=,-";

	if (*word && word[strspn(word, plain)] == '\0') {
		buffer_print(out, "%s", word);
		return;
	}
	buffer_add_byte(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buffer_print(out, "'\\''");
		else
			buffer_add_byte(out, *word);
	buffer_add_byte(out, '\'');
}

/* "%s" in `format` stands for the next word, quoted; the list ends with NULL. */
static void put_command(struct buffer *out, const char *format, const char *const *words)
{
	for (const char *at = format; *at; at++) {
		if (at[0] != '%' || at[1] != 's') {
			buffer_add_byte(out, *at);
			continue;
		}
		put_word(out, *words++);
		at++;
	}
}

#define PUT(remedy_, format_, ...)                                                       \
	put_command((remedy_)->out, (format_), (const char *const[]){__VA_ARGS__, NULL})

static void name_program(const struct remedy *remedy, const char *name, char *ret_path,
			 size_t size)
{
	char folder[SITE_PATH_SIZE];
	struct diag ignored = {0};

	/* This very program lies beside the others. */
	if (setup_find_programs(folder, &ignored) != 0)
		snprintf(folder, sizeof(folder), "%s", remedy->session->site.install_dir);
	snprintf(ret_path, size, "%s/%s", folder, name);
}

#define PROGRAM(remedy_, name_)                                                          \
	char program[SITE_PATH_SIZE + 32];                                               \
	name_program((remedy_), (name_), program, sizeof(program))

/* --- documents --------------------------------------------------------------------- */

/* A file that is there and wrong is moved away first: it may be dear to somebody. */
static void put_aside(const struct remedy *remedy, const char *path)
{
	char aside[SITE_PATH_SIZE + 32];

	if (!is_there(path))
		return;
	snprintf(aside, sizeof(aside), "%s.aside-%lld", path, (long long)session_now());
	PUT(remedy, "mv -n %s %s && ", path, aside);
}

static void put_init(const struct remedy *remedy, const char *path, const char *only)
{
	const char *slash = strrchr(path, '/'), *trusted = remedy->doctor->trusted;
	char out[SITE_PATH_SIZE], wanted[64];
	PROGRAM(remedy, "net-collector");

	snprintf(wanted, sizeof(wanted), "/%s.json", only ? only : "collection");
	/* Only under the names that init gives can it make what is missing. */
	if (!slash || slash == path || strcmp(slash, wanted) != 0 ||
	    slash - path >= (int)sizeof(out))
		return;
	snprintf(out, sizeof(out), "%.*s", (int)(slash - path), path);
	put_aside(remedy, path);
	PUT(remedy, "%s init --out %s", program, out);
	if (only)
		PUT(remedy, " --only %s", only);
	if (!only || strcmp(only, "endpoints") == 0)
		PUT(remedy, " --trusted %s", trusted ? trusted : "ADDRESS:PORT");
}

static void mend_config(const struct remedy *remedy)
{
	const char *path = remedy->look->config_path, *slash = strrchr(path, '/');
	char site[SITE_PATH_SIZE], endpoints[SITE_PATH_SIZE];

	if (!slash || slash - path >= SITE_PATH_SIZE - 16)
		return;
	snprintf(site, sizeof(site), "%.*s/site.json", (int)(slash - path), path);
	snprintf(endpoints, sizeof(endpoints), "%.*s/endpoints.json", (int)(slash - path),
		 path);
	put_init(remedy, path,
		 is_there(site) || is_there(endpoints) ? "collection" : NULL);
}

static void mend_site(const struct remedy *remedy)
{
	put_init(remedy, remedy->session->config.site, "site");
}

static void mend_endpoints(const struct remedy *remedy)
{
	put_init(remedy, remedy->look->endpoints_path, "endpoints");
}

static void mend_preflight(const struct remedy *remedy)
{
	PROGRAM(remedy, "net-preflight");

	PUT(remedy, "%s --config %s --pin", program, remedy->look->config_path);
}

static void mend_profile(const struct remedy *remedy)
{
	const struct session *session = remedy->session;
	const char *path = session->config.profile;
	PROGRAM(remedy, "net-policy");

	/* Another one is installed: which of the two is meant is not ours to say. */
	if (strcmp(path, session->site.profile) != 0)
		return;
	put_aside(remedy, path);
	PUT(remedy, "%s issue --site %s --endpoints %s --window 60 --out %s", program,
	    session->config.site, remedy->look->endpoints_path, path);
}

static void mend_store(const struct remedy *remedy)
{
	const char *path = remedy->session->config.store;

	PUT(remedy, is_there(path) ? "chmod 700 %s" : "mkdir -m 700 %s", path);
}

/* --- packages, units, accounts ---------------------------------------------------- */

static void mend_packages(const struct remedy *remedy)
{
	buffer_print(remedy->out, "apt-get install --yes docker.io rootlesskit "
				  "slirp4netns uidmap");
}

static void mend_unit_files(const struct remedy *remedy)
{
	const struct site *site = &remedy->session->site;
	struct diag ignored = {0};
	char text[16];
	uint32_t uid;
	PROGRAM(remedy, "net-site");

	PUT(remedy, "d=$(mktemp -d) && %s render --site %s", program,
	    remedy->session->config.site);
	if (!freeids_has_account(site->workload_user) &&
	    freeids_find_uid(&uid, &ignored) == 0) {
		snprintf(text, sizeof(text), "%u", uid);
		PUT(remedy, " --uid %s", text);
	}
	PUT(remedy,
	    " --out \"$d/etc\" && cp -R \"$d/etc/.\" %s && rm -r \"$d\" && "
	    "systemctl daemon-reload",
	    "/etc/");
}

static void mend_unit_loads(const struct remedy *remedy)
{
	const struct site *site = &remedy->session->site;
	const char *const units[] = {site->guard_unit, site->proxy_unit,
				     site->worker_unit};

	/* A file that others could change is named, not its unit: that is by hand. */
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(remedy->diag->place, units[i]) == 0)
			PUT(remedy, "systemctl daemon-reload && systemctl try-restart %s",
			    units[i]);
}

/* What changes a unit beside its file is somebody's own. */
static void put_unit(const struct remedy *remedy, const char *unit)
{
	char etc[SITE_UNIT_SIZE + 32], run[SITE_UNIT_SIZE + 32];

	snprintf(etc, sizeof(etc), "/etc/systemd/system/%s.d", unit);
	snprintf(run, sizeof(run), "/run/systemd/system/%s.d", unit);
	if (!is_there(etc) && !is_there(run))
		mend_unit_files(remedy);
}

static void mend_worker(const struct remedy *remedy)
{
	put_unit(remedy, remedy->session->site.worker_unit);
}

static bool is_inactive(const struct remedy *remedy)
{
	return strstr(remedy->diag->text, "not active") != NULL;
}

static void mend_account(const struct remedy *remedy)
{
	const char *name = remedy->session->site.name;
	char sysusers[SITE_NAME_SIZE + 32], tmpfiles[SITE_NAME_SIZE + 32];

	snprintf(sysusers, sizeof(sysusers), "/etc/sysusers.d/%s.conf", name);
	snprintf(tmpfiles, sizeof(tmpfiles), "/etc/tmpfiles.d/%s.conf", name);
	if (is_there(sysusers) && is_there(tmpfiles))
		PUT(remedy, "systemd-sysusers %s && systemd-tmpfiles --create %s",
		    sysusers, tmpfiles);
	else
		mend_unit_files(remedy);
}

static void mend_ranges(const struct remedy *remedy)
{
	struct diag ignored = {0};
	char range[32];
	uint32_t first;

	/* Lines that cannot be read, and another source of ranges, are by hand. */
	if (strcmp(remedy->diag->place, "/etc/subuid") != 0 ||
	    freeids_find_range(&first, &ignored) != 0)
		return;
	snprintf(range, sizeof(range), "%u-%u", first, first + FREEIDS_RANGE - 1);
	PUT(remedy, "usermod --add-subuids %s --add-subgids %s %s", range, range,
	    remedy->session->site.workload_user);
}

static void mend_folders(const struct remedy *remedy)
{
	char tmpfiles[SITE_NAME_SIZE + 32];

	snprintf(tmpfiles, sizeof(tmpfiles), "/etc/tmpfiles.d/%s.conf",
		 remedy->session->site.name);
	if (is_there(tmpfiles))
		PUT(remedy, "systemd-tmpfiles --create %s", tmpfiles);
	else
		mend_unit_files(remedy);
}

static void mend_guard(const struct remedy *remedy)
{
	const char *unit = remedy->session->site.guard_unit;

	if (is_inactive(remedy))
		PUT(remedy, "systemctl enable --now %s", unit);
	else
		put_unit(remedy, unit);
}

static void mend_addresses(const struct remedy *remedy)
{
	const struct site *site = &remedy->session->site;
	char address[INET_TEXT_SIZE + 4];
	enum netview_route route;
	struct diag ignored = {0};
	bool has_proxy = netview_route(-1, site->proxy.address, &route, &ignored) == 0 &&
			 route == NETVIEW_ROUTE_LOCAL;

	snprintf(address, sizeof(address), "%s/32",
		 has_proxy ? site->router.address : site->proxy.address);
	PUT(remedy, "ip address add %s dev lo", address);
}

static void mend_proxy(const struct remedy *remedy)
{
	const char *unit = remedy->session->site.proxy_unit;

	if (is_inactive(remedy))
		PUT(remedy, "systemctl enable %s && systemctl restart %s", unit, unit);
	else if (!strstr(remedy->diag->text, "another process"))
		PUT(remedy, "systemctl restart %s", unit);
}

/* --- the workload user's side ------------------------------------------------------ */

static void put_as_user(const struct remedy *remedy)
{
	const struct session *session = remedy->session;
	char folder[32];

	snprintf(folder, sizeof(folder), "/run/user/%u", session->uid);
	PUT(remedy, "runuser -u %s -- env XDG_RUNTIME_DIR=%s ",
	    session->site.workload_user, folder);
}

static void put_docker(const struct remedy *remedy)
{
	put_as_user(remedy);
	PUT(remedy, ENGINE_CLIENT " --host %s --config %s ", remedy->session->engine.host,
	    remedy->session->site.engine.client_config);
}

static void mend_manager(const struct remedy *remedy)
{
	char unit[32];

	snprintf(unit, sizeof(unit), "user@%u.service", remedy->session->uid);
	/* What else is wrong with it, somebody set up. */
	if (!is_inactive(remedy))
		return;
	PUT(remedy, "loginctl enable-linger %s && systemctl start %s",
	    remedy->session->site.workload_user, unit);
}

static void put_engine_start(const struct remedy *remedy)
{
	const char *unit = remedy->session->site.engine_unit;

	PUT(remedy, "systemctl --global --quiet enable %s && ", unit);
	put_as_user(remedy);
	PUT(remedy,
	    "sh -c 'systemctl --user daemon-reload && systemctl --user restart "
	    "%s'",
	    unit);
}

static void mend_engine_unit(const struct remedy *remedy)
{
	if (is_inactive(remedy) || strstr(remedy->diag->text, "is not there"))
		put_engine_start(remedy);
}

static void mend_engine(const struct remedy *remedy)
{
	/* An engine that answers is somebody's: what it is, is by hand. */
	if (remedy->diag->kind == DIAG_UNDECIDED)
		put_engine_start(remedy);
}

static void mend_engine_idle(const struct remedy *remedy)
{
	struct engine *engine = &remedy->look->session->engine;
	struct lines_names list;
	struct diag ignored = {0};
	bool is_containers =
		engine_list_containers(engine, &list, &ignored) == 0 && list.count;

	if (!is_containers &&
	    (engine_list_networks(engine, &list, &ignored) != 0 || !list.count))
		return;
	put_docker(remedy);
	buffer_print(remedy->out, is_containers ? "rm --force" : "network rm");
	for (size_t i = 0; i < list.count; i++)
		PUT(remedy, " %s", list.names[i]);
}

static void mend_image(const struct remedy *remedy)
{
	const char *release = remedy->session->config.release;
	const char *slash = strrchr(release, '/');
	char archive[COLLECTION_PATH_SIZE + 32];

	snprintf(archive, sizeof(archive), "%.*s/candidate-image.tar",
		 (int)(slash - release), release);
	if (!is_there(archive))
		return;
	put_docker(remedy);
	PUT(remedy, "load --quiet <%s", archive);
}

static void mend_journal(const struct remedy *remedy)
{
	PROGRAM(remedy, "net-collector");

	/* A collection that runs mends it by ending. */
	if (remedy->diag->place[0])
		PUT(remedy, "%s recover", program);
}

static void mend_worker_idle(const struct remedy *remedy)
{
	PUT(remedy,
	    strstr(remedy->diag->text, "is failed") ? "systemctl reset-failed %s"
						    : "systemctl stop %s",
	    remedy->session->site.worker_unit);
}

static void mend_rules(const struct remedy *remedy)
{
	PROGRAM(remedy, "net-policy");

	/* What is not ours, nobody but its owner can judge. */
	if (strcmp(remedy->diag->place, remedy->session->site.table) == 0)
		PUT(remedy, "%s revoke --site %s", program, remedy->session->config.site);
}

static void (*const mends[BINDING_COUNT])(const struct remedy *remedy) = {
	[BINDING_PACKAGES] = mend_packages,
	[BINDING_CONFIG] = mend_config,
	[BINDING_SITE] = mend_site,
	[BINDING_ENDPOINTS] = mend_endpoints,
	[BINDING_UNIT_FILES] = mend_unit_files,
	[BINDING_UNIT_LOADS] = mend_unit_loads,
	[BINDING_ACCOUNT] = mend_account,
	[BINDING_RANGES] = mend_ranges,
	[BINDING_FOLDERS] = mend_folders,
	[BINDING_WORKER] = mend_worker,
	[BINDING_GUARD] = mend_guard,
	[BINDING_ADDRESSES] = mend_addresses,
	[BINDING_PROXY] = mend_proxy,
	[BINDING_MANAGER] = mend_manager,
	[BINDING_ENGINE_UNIT] = mend_engine_unit,
	[BINDING_ENGINE] = mend_engine,
	[BINDING_JOURNAL] = mend_journal,
	[BINDING_WORKER_IDLE] = mend_worker_idle,
	[BINDING_ENGINE_IDLE] = mend_engine_idle,
	[BINDING_IMAGE] = mend_image,
	[BINDING_RULES] = mend_rules,
	[BINDING_STORE] = mend_store,
	[BINDING_PIN] = mend_preflight,
	[BINDING_SAME_HOST] = mend_preflight,
	[BINDING_PREFLIGHT] = mend_preflight,
	[BINDING_PROFILE] = mend_profile,
};

/* --- the lines --------------------------------------------------------------------- */

/* Whether an earlier line has the same command: what mends several is said once. */
static bool is_said(const struct buffer *lines, const char *command)
{
	size_t length = strlen(command);
	const char *at = lines->bytes.data;

	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strncmp(at, command, length) == 0 &&
		    strncmp(at + length, "  # ", 4) == 0)
			return true;
	return false;
}

static void add_line(struct doctor *doctor, const char *command, const struct diag *diag)
{
	char why[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];

	diag_render(diag, why, sizeof(why));
	if (!*command) {
		buffer_print(&doctor->lines, "# by hand: %s\n", why);
		return;
	}
	/* What a message says after its semicolon is what the command does. */
	why[strcspn(why, ";")] = '\0';
	if (!is_said(&doctor->lines, command))
		buffer_print(&doctor->lines, "%s  # %s\n", command, why);
}

struct visit {
	struct doctor *doctor;
	const struct look *look;
	bool is_short;
};

static void take_binding(void *context, enum binding binding, enum binding_state state,
			 const struct diag *diag)
{
	struct visit *visit = context;
	struct doctor *doctor = visit->doctor;
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes command = {0};
	const struct remedy remedy = {doctor, visit->look, doctor->session, diag,
				      &buffer};
	struct diag ignored = {0};

	if (state == BINDING_UNSEEN)
		doctor->unseen++;
	if (state != BINDING_BROKEN)
		return;
	if (diag->kind == DIAG_UNDECIDED)
		doctor->undecided++;
	else
		doctor->standing++;
	if (mends[binding])
		mends[binding](&remedy);
	if (buffer_take(&buffer, &command, &ignored) == 0)
		add_line(doctor, command.data, diag);
	else
		visit->is_short = true;
}

int doctor_look(struct doctor *doctor, struct diag *diag)
{
	OWN(own_pointer) struct preflight *found = calloc(1, sizeof(*found));
	char endpoints[SITE_PATH_SIZE];
	struct look look = {.session = doctor->session,
			    .found = found,
			    .config_path = doctor->config_path,
			    .endpoints_path = endpoints};
	struct visit visit = {doctor, &look, false};
	const char *slash = strrchr(doctor->config_path, '/');

	if (!found)
		return diag_no_memory(diag);
	if (!json_is_clean_path(doctor->config_path) ||
	    snprintf(endpoints, sizeof(endpoints), "%.*s/endpoints.json",
		     (int)(slash - doctor->config_path),
		     doctor->config_path) >= (int)sizeof(endpoints))
		return diag_usage(diag, "--config", "not a clean absolute path");
	bindings_survey(&look, take_binding, &visit);
	return visit.is_short ? diag_no_memory(diag) : 0;
}
