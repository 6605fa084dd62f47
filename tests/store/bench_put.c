// SPDX-License-Identifier: GPL-2.0-or-later
// Puts many objects into a store, and says how long that took and how much of it the
// puts' own syncs did: "store_bench FOLDER COUNT SIZE" prints one JSON object.
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static int timed_fsync(int fd);

#define fsync timed_fsync
#include "common/store.c"
#undef fsync

#include "common/cli.h"
#include "common/number.h"

static int64_t sync_ns;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int timed_fsync(int fd)
{
	int64_t started = now_ns();
	int result = fsync(fd);

	sync_ns += now_ns() - started;
	return result;
}

static int put_many(const struct store *store, uint64_t count, uint64_t size,
		    struct diag *diag)
{
	OWN(own_pointer) char *data = malloc(size);
	char sha256[DIGEST_TEXT_SIZE];
	bool is_new = false;
	int error = 0;

	if (!data)
		return diag_no_memory(diag);
	memset(data, 'x', size);
	for (uint64_t i = 0; i < count && !error; i++) {
		memcpy(data, &i, sizeof(i));
		error = store_put(store, data, size, sha256, &is_new, diag);
		if (!error && !is_new)
			error = diag_fail(diag, 0, sha256, "was there already");
	}
	return error;
}

static enum exit_status run(const struct cli_values *values)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	uint64_t count = 0, size = 0;
	struct diag diag = {0};
	int64_t started, took_ns = 0;

	if (number_parse(values->operands[1], 1, 100000, &count) != 0 ||
	    number_parse(values->operands[2], sizeof(uint64_t), STORE_OBJECT_LIMIT,
			 &size) != 0)
		diag_usage(&diag, NULL, "no such count or size");
	else if (store_open(values->operands[0], geteuid(), &store, &diag) == 0) {
		started = now_ns();
		put_many(&store, count, size, &diag);
		took_ns = now_ns() - started;
	}
	if (diag.kind != DIAG_NONE)
		return cli_report(&diag);
	printf("{\"put_us\": %.1f, \"put_syncs_us\": %.1f}\n",
	       (double)took_ns / 1e3 / (double)count,
	       (double)sync_ns / 1e3 / (double)count);
	return EXIT_STATUS_OK;
}

int main(int argc, char **argv)
{
	static const struct cli_command commands[] = {
		{.operands = "FOLDER COUNT SIZE",
		 .operands_min = 3,
		 .operands_max = 3,
		 .summary = "times puts",
		 .run = run},
	};
	static const struct cli_program program = {
		.name = "store_bench",
		.summary = "how long a put takes, and its two syncs in it",
		.commands = commands,
		.command_count = 1,
	};

	return cli_main(&program, argc, argv);
}
