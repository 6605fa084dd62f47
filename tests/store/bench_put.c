// SPDX-License-Identifier: GPL-2.0-or-later
// Times puts, and beside each a bare one: the same file written, synced and linked with
// nothing checked, which no put can do without. "store_bench FOLDER COUNT SIZE" prints
// one line for each pair: microseconds of the put, of its own two syncs, and of the
// bare put and its two syncs.
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

static int put(const struct store *store, const char *data, size_t size,
	       struct diag *diag)
{
	char sha256[DIGEST_TEXT_SIZE];
	bool is_new = false;
	int error = store_put(store, data, size, sha256, &is_new, diag);

	return error || is_new ? error : diag_fail(diag, 0, sha256, "was there already");
}

static int put_bare(const struct store *store, const char *data, size_t size,
		    uint64_t number, struct diag *diag)
{
	char path[32], name[32];
	OWN(own_fd)
	int fd = openat(store->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, OBJECT_MODE);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(name, sizeof(name), "bare%llu", (unsigned long long)number);
	if (fd < 0 || write_all(fd, data, size) != 0 || timed_fsync(fd) != 0 ||
	    linkat(AT_FDCWD, path, store->fd, name, AT_SYMLINK_FOLLOW) != 0 ||
	    timed_fsync(store->fd) != 0)
		return diag_fail(diag, errno, name, "cannot be written");
	return 0;
}

static int put_pairs(const struct store *store, uint64_t count, uint64_t size,
		     struct diag *diag)
{
	OWN(own_pointer) char *data = malloc(size);
	int error = 0;

	if (!data)
		return diag_no_memory(diag);
	memset(data, 'x', size);
	for (uint64_t i = 0; i < 2 * count && !error; i++) {
		/* Which goes first changes with each pair. */
		bool is_bare = (i ^ i / 2) & 1;
		static double us[4];
		int64_t started;

		memcpy(data, &i, sizeof(i));
		sync_ns = 0;
		started = now_ns();
		error = is_bare ? put_bare(store, data, size, i, diag)
				: put(store, data, size, diag);
		us[is_bare ? 2 : 0] = (double)(now_ns() - started) / 1e3;
		us[is_bare ? 3 : 1] = (double)sync_ns / 1e3;
		if (!error && i % 2)
			printf("%.1f %.1f %.1f %.1f\n", us[0], us[1], us[2], us[3]);
	}
	return error;
}

static enum exit_status run(const struct cli_values *values)
{
	OWN(own_store) struct store store = STORE_CLOSED;
	uint64_t count = 0, size = 0;
	struct diag diag = {0};

	if (number_parse(values->operands[1], 1, 100000, &count) != 0 ||
	    number_parse(values->operands[2], sizeof(uint64_t), STORE_OBJECT_LIMIT,
			 &size) != 0)
		diag_usage(&diag, NULL, "no such count or size");
	else if (store_open(values->operands[0], geteuid(), &store, &diag) == 0)
		put_pairs(&store, count, size, &diag);
	if (diag.kind != DIAG_NONE)
		return cli_report(&diag);
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
