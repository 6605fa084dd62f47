// SPDX-License-Identifier: GPL-2.0-or-later
// collector/units, lock and wait without a systemd: whose processes are in a cgroup, one
// collection at a time, waits that a signal ends. What is read from fixed places is put
// there in a mount namespace of this program's own.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "collector/lock.h"
#include "collector/units.h"
#include "collector/wait.h"
#include "common/clock.h"

enum { LONG_MS = 600000, SHORT_MS = 20 };

/* --- pids in a cgroup ------------------------------------------------------------- */

#define CGROUP "/sys/fs/cgroup"

static void write_procs(const char *text)
{
	FILE *file = fopen(CGROUP "/x/cgroup.procs", "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int hide_cgroups(void **state)
{
	(void)state;
	return mount("cgroup-of-files", CGROUP, "tmpfs", 0, "mode=755") ||
	       mkdir(CGROUP "/x", 0755);
}

static int show_cgroups(void **state)
{
	(void)state;
	return umount2(CGROUP, MNT_DETACH);
}

static void test_pids_of_a_cgroup(void **state)
{
	struct diag diag = {0};
	pid_t pids[2] = {0, 0};
	size_t count = 7;

	(void)state;
	write_procs("12\n34\n");
	assert_int_equal(units_cgroup_pids("x", pids, 2, &count, &diag), 0);
	assert_int_equal(count, 2);
	assert_int_equal(pids[0], 12);
	assert_int_equal(pids[1], 34);
	/* More than there is room for are counted all the same. */
	write_procs("1\n2\n3\n4\n");
	assert_int_equal(units_cgroup_pids("x", pids, 2, &count, &diag), 0);
	assert_int_equal(count, 4);
	assert_int_equal(pids[1], 2);
	write_procs("");
	assert_int_equal(units_cgroup_pids("x", pids, 2, &count, &diag), 0);
	assert_int_equal(count, 0);
}

static void test_no_cgroup_has_none(void **state)
{
	struct diag diag = {0};
	size_t count = 7;

	(void)state;
	assert_int_equal(units_cgroup_pids("gone", NULL, 0, &count, &diag), 0);
	assert_int_equal(count, 0);
}

static void test_pids_that_cannot_be_told(void **state)
{
	static const char *const texts[] = {"x\n", "12\n-3\n", "12 34\n",
					    "99999999999\n"};
	struct diag diag = {0};
	pid_t pids[4];
	size_t count = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		diag = (struct diag){0};
		write_procs(texts[i]);
		assert_true(units_cgroup_pids("x", pids, 4, &count, &diag) < 0);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		assert_int_equal(count, 7);
	}
	assert_int_equal(unlink(CGROUP "/x/cgroup.procs"), 0);
	assert_int_equal(symlink("/proc/self/status", CGROUP "/x/cgroup.procs"), 0);
	diag = (struct diag){0};
	assert_true(units_cgroup_pids("x", pids, 4, &count, &diag) < 0);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
}

/* --- one at a time ---------------------------------------------------------------- */

static int hide_state(void **state)
{
	(void)state;
	return mount("var-lib", "/var/lib", "tmpfs", 0, "mode=755");
}

static int show_state(void **state)
{
	(void)state;
	return umount2("/var/lib", MNT_DETACH);
}

static void test_a_second_one_is_busy(void **state)
{
	OWN(own_fd) int folder = -1, first = -1, second = -1;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(lock_open_folder(&folder, &diag), 0);
	assert_int_equal(lock_take(folder, &first, &diag), 0);
	assert_int_equal(lock_take(folder, &second, &diag), -EINVAL);
	assert_refused(diag, "busy: another collection is running; wait for its end");
	assert_int_equal(second, -1);
	own_fd(&first);
	assert_int_equal(lock_take(folder, &second, &(struct diag){0}), 0);
}

static void test_the_folder_is_roots_alone(void **state)
{
	OWN(own_fd) int folder = -1;
	struct diag diag = {0};
	struct stat status;

	(void)state;
	assert_int_equal(lock_open_folder(&folder, &diag), 0);
	assert_int_equal(fstat(folder, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	own_fd(&folder);
	assert_int_equal(chmod(LOCK_FOLDER, 0755), 0);
	assert_true(lock_open_folder(&folder, &diag) < 0);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_int_equal(rmdir(LOCK_FOLDER), 0);
	assert_int_equal(symlink("/etc", LOCK_FOLDER), 0);
	assert_true(lock_open_folder(&folder, &(struct diag){0}) < 0);
	assert_int_equal(folder, -1);
}

/* --- waits ------------------------------------------------------------------------ */

static void test_the_first_signal_ends_every_wait(void **state)
{
	static const struct {
		int number;
		const char *text;
	} signals[] = {{SIGTERM, "interrupted by SIGTERM"},
		       {SIGINT, "interrupted by SIGINT"},
		       {SIGHUP, "interrupted by SIGHUP"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct wait wait = WAIT_INIT;
		struct diag diag = {0};

		assert_int_equal(wait_open(&wait, &diag), 0);
		assert_int_equal(wait_check(&wait, &diag), 0);
		assert_int_equal(raise(signals[i].number), 0);
		assert_int_equal(wait_until(&wait, clock_boot_ms() + LONG_MS, &diag),
				 -EINTR);
		assert_string_equal(diag.text, signals[i].text);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		/* And those that follow, whatever comes after it. */
		assert_int_equal(raise(SIGTERM), 0);
		diag = (struct diag){0};
		assert_int_equal(wait_check(&wait, &diag), -EINTR);
		assert_string_equal(diag.text, signals[i].text);
		/* But not the endings. */
		wait_shield(&wait);
		assert_int_equal(wait_until(&wait, clock_boot_ms() + SHORT_MS, &diag), 0);
		wait_close(&wait);
	}
}

static void test_what_is_ready_is_told(void **state)
{
	struct wait wait = WAIT_INIT;
	struct pollfd polled = {.events = POLLIN};
	struct diag diag = {0};
	int ends[2];

	(void)state;
	assert_int_equal(wait_open(&wait, &diag), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	polled.fd = ends[0];
	assert_int_equal(wait_poll(&wait, &polled, 1, clock_boot_ms() + SHORT_MS, &diag),
			 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(wait_poll(&wait, &polled, 1, clock_boot_ms() + LONG_MS, &diag),
			 1);
	assert_int_equal(polled.revents, POLLIN);
	/* A deadline that has passed looks once. */
	assert_int_equal(wait_poll(&wait, &polled, 1, clock_boot_ms() - 1, &diag), 1);
	close(ends[0]);
	close(ends[1]);
	wait_close(&wait);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pids_of_a_cgroup, hide_cgroups,
						show_cgroups),
		cmocka_unit_test_setup_teardown(test_no_cgroup_has_none, hide_cgroups,
						show_cgroups),
		cmocka_unit_test_setup_teardown(test_pids_that_cannot_be_told,
						hide_cgroups, show_cgroups),
		cmocka_unit_test_setup_teardown(test_a_second_one_is_busy, hide_state,
						show_state),
		cmocka_unit_test_setup_teardown(test_the_folder_is_roots_alone,
						hide_state, show_state),
		cmocka_unit_test(test_the_first_signal_ends_every_wait),
		cmocka_unit_test(test_what_is_ready_is_told),
	};

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		perror("a mount namespace");
		return 1;
	}
	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
