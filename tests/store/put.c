// SPDX-License-Identifier: GPL-2.0-or-later
// Puts standard input into a store: prints "stored SHA256" or "exists SHA256" once
// that is acknowledged. For the tests in this folder: two system calls that nothing
// else here makes, getppid() and getpgrp(), mark where the put begins and ends.
#include <stdio.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/protected.h"
#include "common/store.h"

static enum exit_status put(const struct cli_values *values)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	OWN(own_bytes) struct bytes bytes = {0};
	char sha256[DIGEST_TEXT_SIZE];
	struct diag diag = {0};
	bool is_new = false;
	int error;

	error = protected_read_fd(STDIN_FILENO, STORE_OBJECT_LIMIT, "stdin", &bytes,
				  &diag);
	(void)getppid();
	if (!error)
		error = store_open(values->operands[0], geteuid(), &store, &diag);
	if (!error)
		error = store_put(&store, bytes.data, bytes.size, sha256, &is_new, &diag);
	(void)getpgrp();
	if (error)
		return cli_report(&diag);
	printf("%s %s\n", is_new ? "stored" : "exists", sha256);
	return EXIT_STATUS_OK;
}

int main(int argc, char **argv)
{
	static const struct cli_command commands[] = {
		{.operands = "FOLDER",
		 .operands_min = 1,
		 .operands_max = 1,
		 .summary = "puts standard input into a store",
		 .run = put},
	};
	static const struct cli_program program = {
		.name = "store_put",
		.summary = "the store's put, alone",
		.commands = commands,
		.command_count = 1,
	};

	return cli_main(&program, argc, argv);
}
