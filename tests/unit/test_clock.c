// SPDX-License-Identifier: GPL-2.0-or-later
// common/clock: which clock is read, in which unit; and a test build's offsets.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <time.h>

#include "common/clock.h"

static int64_t kernel_us(clockid_t clock)
{
	struct timespec now;

	assert_int_equal(clock_gettime(clock, &now), 0);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* `read` lies between two readings of the kernel's clock, each shifted. */
static void assert_reads(int64_t (*read_clock)(void), clockid_t clock, int64_t unit_us,
			 int64_t offset)
{
	int64_t before = kernel_us(clock) / unit_us + offset;
	int64_t read = read_clock();
	int64_t after = kernel_us(clock) / unit_us + offset;

	assert_in_range(read, before, after);
}

static void each_reads_its_own_clock(void **state)
{
	(void)state;
	unsetenv("NETPROOF_TEST_CLOCK");
	assert_reads(clock_wall_ms, CLOCK_REALTIME, 1000, 0);
	assert_reads(clock_boot_ms, CLOCK_BOOTTIME, 1000, 0);
	assert_reads(clock_monotonic_us, CLOCK_MONOTONIC, 1, 0);
}

#ifdef NETPROOF_TEST_CLOCK
static void write_offsets(int fd, const char *text)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
}

static void a_test_build_shifts_them(void **state)
{
	char name[] = "/tmp/netproof-clock-XXXXXX";
	OWN(own_fd) int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	write_offsets(fd, "5000000 -7000\n");
	setenv("NETPROOF_TEST_CLOCK", name, 1);
	assert_reads(clock_wall_ms, CLOCK_REALTIME, 1000, 5000000);
	assert_reads(clock_boot_ms, CLOCK_BOOTTIME, 1000, -7000);
	unlink(name);
	write_offsets(fd, "-1 2\n");
	assert_reads(clock_wall_ms, CLOCK_REALTIME, 1000, -1);
	assert_reads(clock_boot_ms, CLOCK_BOOTTIME, 1000, 2);
	assert_reads(clock_monotonic_us, CLOCK_MONOTONIC, 1, 0);
	write_offsets(fd, "half a line");
	assert_reads(clock_wall_ms, CLOCK_REALTIME, 1000, 0);
}
#else
static void a_released_build_ignores_the_variable(void **state)
{
	char name[] = "/tmp/netproof-clock-XXXXXX";
	OWN(own_fd) int fd = mkstemp(name);

	(void)state;
	assert_int_equal(write(fd, "5000000 5000000\n", 16), 16);
	setenv("NETPROOF_TEST_CLOCK", name, 1);
	assert_reads(clock_wall_ms, CLOCK_REALTIME, 1000, 0);
	assert_reads(clock_boot_ms, CLOCK_BOOTTIME, 1000, 0);
	unlink(name);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef NETPROOF_TEST_CLOCK
		cmocka_unit_test(a_test_build_shifts_them),
#else
		cmocka_unit_test(each_reads_its_own_clock),
		cmocka_unit_test(a_released_build_ignores_the_variable),
#endif
	};

#ifdef NETPROOF_TEST_CLOCK
	(void)each_reads_its_own_clock; /* the first reading opens the file for good */
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
