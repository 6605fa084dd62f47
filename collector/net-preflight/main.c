// SPDX-License-Identifier: GPL-2.0-or-later
// net-preflight: a read-only look at a host, printed, and kept if a store is named.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/bindings.h"
#include "collector/setup.h"
#include "common/cli.h"
#include "common/store.h"

/* What is asked for: by site and release, or by a configuration that names them. */
struct request {
	const char *config_path; /* or NULL */
	bool is_pinned;
	struct collection config; /* site, release, and store or "" */
};

static int copy_path(const char *option, const char *path,
		     char ret_path[COLLECTION_PATH_SIZE], struct diag *diag)
{
	if (!path)
		return diag_usage(diag, option,
				  "missing: give --site and --release, or --config");
	if (snprintf(ret_path, COLLECTION_PATH_SIZE, "%s", path) >= COLLECTION_PATH_SIZE)
		return diag_usage(diag, option, "too long a path");
	return 0;
}

static int read_request(const struct cli_values *values, struct request *request,
			struct diag *diag)
{
	const char *site = cli_value(values, "site");
	const char *release = cli_value(values, "release");
	const char *store = cli_value(values, "store");
	int error;

	request->config_path = cli_value(values, "config");
	request->is_pinned = cli_value(values, "pin");
	if (request->config_path && (site || release || store))
		return diag_usage(diag, "--config",
				  "names site, release and store itself: give no other");
	if (request->is_pinned && !request->config_path)
		return diag_usage(diag, "--pin", "is for a --config");
	if (request->config_path)
		return collection_read(request->config_path, 0, &request->config, NULL,
				       diag);
	error = copy_path("--site", site, request->config.site, diag);
	if (!error)
		error = copy_path("--release", release, request->config.release, diag);
	if (!error && store)
		error = copy_path("--store", store, request->config.store, diag);
	return error;
}

static int keep(const struct bytes *bytes, struct collection *config, struct diag *diag)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	char sha256[DIGEST_TEXT_SIZE];
	bool is_new;
	int error = store_open(config->store, 0, &store, diag);

	if (!error)
		error = store_put(&store, bytes->data, bytes->size, sha256, &is_new,
				  diag);
	if (error)
		return error;
	memcpy(config->pre_collection_preflight_sha256, sha256, sizeof(sha256));
	fprintf(stderr, "net-preflight: kept as %s\n", sha256);
	return 0;
}

/* The configuration, bound to what was found. */
static int pin(const struct request *request, const struct preflight *preflight,
	       struct diag *diag)
{
	struct collection config = request->config;
	int error;

	if (strcmp(config.release_sha256, preflight->release_sha256) != 0)
		fprintf(stderr, "net-preflight: %s: pins release %s instead of %s\n",
			request->config_path, preflight->release_sha256,
			config.release_sha256);
	strcpy(config.release_sha256, preflight->release_sha256);
	strcpy(config.machine_id_sha256, preflight->host.machine_id_sha256);
	strcpy(config.boot_id, preflight->host.boot_id);
	error = setup_pin(request->config_path, &config, diag);
	if (!error)
		fprintf(stderr, "net-preflight: %s: pins this host, boot and preflight\n",
			request->config_path);
	return error;
}

static int inspect(struct session *session, const struct cli_values *values,
		   struct diag *diag)
{
	OWN(own_pointer) struct preflight *preflight = calloc(1, sizeof(*preflight));
	OWN(own_pointer) struct request *request = calloc(1, sizeof(*request));
	OWN(own_bytes) struct bytes bytes = {0};
	int error =
		preflight && request ? session_open(session, diag) : diag_no_memory(diag);

	if (!error && geteuid() != 0)
		error = diag_refuse(diag, NULL, "not root: run it as root");
	if (!error)
		error = read_request(values, request, diag);
	if (!error)
		error = bindings_inspect(session, request->config.site,
					 request->config.release, preflight, diag);
	if (!error)
		error = preflight_write(preflight, &bytes, diag);
	if (!error && request->config.store[0])
		error = keep(&bytes, &request->config, diag);
	if (!error && request->is_pinned)
		error = pin(request, preflight, diag);
	if (!error)
		printf("%s\n", bytes.data);
	return error;
}

static enum exit_status run(const struct cli_values *values)
{
	struct session *session = calloc(1, sizeof(*session));
	struct diag diag = {0};
	int error = session ? inspect(session, values, &diag) : diag_no_memory(&diag);

	if (session)
		session_close(session);
	free(session);
	return error ? cli_report(&diag) : EXIT_STATUS_OK;
}

static const struct cli_option options[] = {
	{"site", "FILE", "the site file, a protected path", false},
	{"release", "FILE", "the release file; its catalog and targets lie beside it",
	 false},
	{"store", "DIR", "keep the preflight in this store", false},
	{"config", "FILE", "instead of these: a collection's configuration names them",
	 false},
	{"pin", NULL, "bind that configuration to this host, boot and preflight", false},
};

static const struct cli_command commands[] = {
	{NULL, NULL, 0, 0, "looks at this host, read-only", options, ARRAY_SIZE(options),
	 run},
};

static const struct cli_program program = {
	"net-preflight", "says what a collection would find on this host", commands,
	ARRAY_SIZE(commands)};

int main(int argc, char **argv)
{
	return cli_main(&program, argc, argv);
}
