// SPDX-License-Identifier: GPL-2.0-or-later
// net-preflight: a read-only look at a host, printed, and kept if a store is named.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/bindings.h"
#include "common/cli.h"
#include "common/store.h"

static int keep(const char *store_path, const struct bytes *bytes, struct diag *diag)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	char sha256[DIGEST_TEXT_SIZE];
	bool is_new;
	int error = store_open(store_path, 0, &store, diag);

	if (!error)
		error = store_put(&store, bytes->data, bytes->size, sha256, &is_new,
				  diag);
	if (!error)
		fprintf(stderr, "net-preflight: kept as %s\n", sha256);
	return error;
}

static int inspect(struct session *session, const struct cli_values *values,
		   struct diag *diag)
{
	OWN(own_pointer) struct preflight *preflight = calloc(1, sizeof(*preflight));
	OWN(own_bytes) struct bytes bytes = {0};
	int error = preflight ? session_open(session, diag) : diag_no_memory(diag);

	if (!error && geteuid() != 0)
		error = diag_refuse(diag, NULL, "not root: run it as root");
	if (!error)
		error = bindings_inspect(session, cli_value(values, "site"),
					 cli_value(values, "release"), preflight, diag);
	if (!error)
		error = preflight_write(preflight, &bytes, diag);
	if (!error && cli_value(values, "store"))
		error = keep(cli_value(values, "store"), &bytes, diag);
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
	{"site", "FILE", "the site file, a protected path", true},
	{"release", "FILE", "the release file; its catalog and targets lie beside it",
	 true},
	{"store", "DIR", "keep the preflight in this store", false},
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
