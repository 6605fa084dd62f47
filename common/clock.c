// SPDX-License-Identifier: GPL-2.0-or-later
// The clocks every deadline and duration here is taken from.
//
// A test build (-DNETPROOF_TEST_CLOCK) adds to each clock the milliseconds that
// a file holds as "WALL BOOT\n"; NETPROOF_TEST_CLOCK in the environment names
// it. It is opened at the first reading and then read again each time, so a
// confined program reads a clock once before its filter, and a test rewrites the
// file in place. The machine's own clock is never stepped. No released binary is
// built so.
#include "common/clock.h"

#include <assert.h>
#include <time.h>

#ifdef NETPROOF_TEST_CLOCK
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void read_offsets(int64_t *ret_wall, int64_t *ret_boot)
{
	static int fd = -2;
	long long wall = 0, boot = 0;
	char text[64];
	ssize_t got;

	if (fd == -2) {
		const char *name = getenv("NETPROOF_TEST_CLOCK");

		fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	}
	got = fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : 0;
	text[got > 0 ? got : 0] = '\0';
	if (sscanf(text, "%lld %lld", &wall, &boot) != 2)
		wall = boot = 0;
	*ret_wall = wall;
	*ret_boot = boot;
}
#else
static void read_offsets(int64_t *ret_wall, int64_t *ret_boot)
{
	*ret_wall = *ret_boot = 0;
}
#endif

static int64_t read_ms(clockid_t clock)
{
	struct timespec now;
	int failed = clock_gettime(clock, &now);

	/* Both clocks exist on every kernel this runs on. */
	assert(!failed);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_wall_ms(void)
{
	int64_t wall, boot;

	read_offsets(&wall, &boot);
	return read_ms(CLOCK_REALTIME) + wall;
}

int64_t clock_boot_ms(void)
{
	int64_t wall, boot;

	read_offsets(&wall, &boot);
	return read_ms(CLOCK_BOOTTIME) + boot;
}

int64_t clock_monotonic_us(void)
{
	struct timespec now;
	int failed = clock_gettime(CLOCK_MONOTONIC, &now);

	assert(!failed);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
