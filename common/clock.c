// SPDX-License-Identifier: GPL-2.0-or-later
// The two clocks every deadline here is taken from.
//
// A test build (-DNETPROOF_TEST_CLOCK) adds to each clock the milliseconds that
// a file holds as "WALL BOOT\n"; NETPROOF_TEST_CLOCK in the environment names
// it. The machine's own clock is never stepped. No released binary is built so.
#include "common/clock.h"

#include <assert.h>
#include <time.h>

#ifdef NETPROOF_TEST_CLOCK
#include <stdio.h>
#include <stdlib.h>

#include "common/own.h"

static void read_offsets(int64_t *ret_wall, int64_t *ret_boot)
{
	const char *name = getenv("NETPROOF_TEST_CLOCK");
	OWN(own_file) FILE *file = name ? fopen(name, "re") : NULL;
	long long wall = 0, boot = 0;

	if (file && fscanf(file, "%lld %lld", &wall, &boot) != 2)
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
