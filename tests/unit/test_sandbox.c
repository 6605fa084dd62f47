// SPDX-License-Identifier: GPL-2.0-or-later
// common/sandbox: what was dropped stays dropped, a forbidden call dies by SIGSYS.
// Each case is a process of its own.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/sandbox.h"

#define DROP_FAILED 90
#define FILTER_FAILED 91
#define SURVIVED 92

static int run(int (*function)(void *context), void *context,
	       struct child_result *ret_result)
{
	struct child_spec spec = {.function = function,
				  .context = context,
				  .timeout_ms = 10 * 60 * 1000,
				  .output_limit = 1 << 16,
				  .error_limit = 1 << 16};
	struct diag diag = {0};

	return child_run(&spec, ret_result, &diag);
}

static void assert_passes(int (*function)(void *context), void *context)
{
	OWN(child_result_release) struct child_result result = {0};

	assert_int_equal(run(function, context, &result), 0);
	assert_string_equal(result.error.data, "");
	assert_int_equal(result.signal, 0);
	assert_int_equal(result.exit_status, 0);
}

/* In a child: says what went wrong, and gives a status of its own. */
#define EXPECT(condition_)                                                               \
	do {                                                                             \
		if (!(condition_)) {                                                     \
			dprintf(2, "line %d: %s: %s", __LINE__, #condition_,             \
				strerror(errno));                                        \
			return 1;                                                        \
		}                                                                        \
	} while (0)

static int expect_dropped(void)
{
	struct diag diag = {0};

	EXPECT(sandbox_drop_privileges(&diag) == 0);
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	EXPECT(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	EXPECT(setuid(1234) == -1 && errno == EPERM);
	EXPECT(setgid(1234) == -1 && errno == EPERM);
	EXPECT(chroot("/") == -1 && errno == EPERM);
	EXPECT(mount(NULL, "/", NULL, MS_PRIVATE, NULL) == -1 && errno == EPERM);
	EXPECT(socket(AF_INET, SOCK_RAW, 1) == -1 && errno == EPERM);
	EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0) == -1);
	return 0;
}

static int drop_as_root(void *context)
{
	(void)context;
	EXPECT(expect_dropped() == 0);
	for (unsigned long capability = 0; capability < 64; capability++)
		EXPECT(prctl(PR_CAPBSET_READ, capability, 0, 0, 0) != 1);
	/* Not even a program executed as root gets anything back. */
	execl("/bin/sh", "sh", "-c",
	      "! grep -E '^Cap' /proc/self/status | grep -v '0000000000000000$' >&2",
	      NULL);
	return 1;
}

static int drop_without_setpcap(void *context)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}};

	(void)context;
	data[0].permitted = data[0].effective = data[0].inheritable = 1U << CAP_NET_ADMIN;
	EXPECT(syscall(SYS_capset, &header, data) == 0);
	EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0) == 0);
	EXPECT(expect_dropped() == 0);
	EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_ADMIN, 0, 0) == 0);
	return 0;
}

static int drop_as_nobody(void *context)
{
	EXPECT(setgid(65534) == 0 && setuid(65534) == 0);
	(void)context;
	return expect_dropped();
}

static void privileges_stay_dropped(void **state)
{
	(void)state;
	assert_passes(drop_as_root, NULL);
	assert_passes(drop_without_setpcap, NULL);
	assert_passes(drop_as_nobody, NULL);
}

static int close_from(void *context)
{
	struct diag diag = {0};
	int low = dup(0), high = fcntl(0, F_DUPFD, 900);

	(void)context;
	EXPECT(low == 3 && high >= 900);
	EXPECT(sandbox_close_descriptors(4, &diag) == 0);
	EXPECT(fcntl(3, F_GETFD) >= 0);
	EXPECT(fcntl(high, F_GETFD) == -1 && errno == EBADF);
	EXPECT(sandbox_close_descriptors(3, &diag) == 0);
	EXPECT(fcntl(3, F_GETFD) == -1 && errno == EBADF);
	EXPECT(fcntl(2, F_GETFD) >= 0);
	return 0;
}

static void descriptors_are_closed(void **state)
{
	(void)state;
	assert_passes(close_from, NULL);
}

static int lower_limits(void *context)
{
	struct rlimit limit = {50, 60};
	struct diag diag = {0};

	(void)context;
	EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	EXPECT(sandbox_limit(RLIMIT_NOFILE, 55, &diag) == 0);
	EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	EXPECT(limit.rlim_cur == 50 && limit.rlim_max == 55);
	EXPECT(sandbox_limit(RLIMIT_NOFILE, 1000, &diag) == 0);
	EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	EXPECT(limit.rlim_cur == 50 && limit.rlim_max == 55);
	EXPECT(sandbox_limit(RLIMIT_NOFILE, 9, &diag) == 0);
	EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	EXPECT(limit.rlim_cur == 9 && limit.rlim_max == 9);
	EXPECT(sandbox_limit(4711, 9, &diag) == -EINVAL && diag.kind == DIAG_UNDECIDED);
	return 0;
}

static void limits_only_go_down(void **state)
{
	(void)state;
	assert_passes(lower_limits, NULL);
}

static int restrict_files(void *context)
{
	struct sandbox_path allowed = {open("/proc", O_PATH | O_CLOEXEC),
				       LANDLOCK_ACCESS_FS_READ_FILE};
	struct diag diag = {0};
	bool is_enforced = false;

	(void)context;
	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(sandbox_restrict_files(&allowed, 1, &is_enforced, &diag) == 0);
	if (!is_enforced)
		return 77;
	EXPECT(open("/proc/version", O_RDONLY) >= 0);
	EXPECT(open("/proc/self/comm", O_RDWR) == -1 && errno == EACCES);
	EXPECT(open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES);
	EXPECT(mkdir("/tmp/netproof-must-not-be", 0700) == -1 && errno == EACCES);
	return 0;
}

static void files_are_restricted(void **state)
{
	OWN(child_result_release) struct child_result result = {0};

	(void)state;
	assert_int_equal(run(restrict_files, NULL, &result), 0);
	if (result.exit_status == 77) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_string_equal(result.error.data, "");
	assert_int_equal(result.exit_status, 0);
}

/* Standard output alone may be written to. */
static const struct sandbox_call allowed[] = {
	{SCMP_SYS(exit_group), 0, {{0}}},
	{SCMP_SYS(exit), 0, {{0}}},
	{SCMP_SYS(getppid), 0, {{0}}},
	{SCMP_SYS(prctl), 1, {SCMP_A0_32(SCMP_CMP_EQ, PR_GET_SECCOMP, 0)}},
	{SCMP_SYS(write), 2, {SCMP_A0_32(SCMP_CMP_EQ, 1, 0), SCMP_A2(SCMP_CMP_LE, 2, 0)}},
};

#define X32_BIT 0x40000000 /* arch/x86/include/uapi/asm/unistd.h */

static int confine(void)
{
	struct diag diag = {0};

	return sandbox_filter(allowed, ARRAY_SIZE(allowed), &diag);
}

static void end(int status)
{
	syscall(SYS_exit_group, status);
}

/* Makes the call whose number `context` points to, with three odd arguments. */
static int call_confined(void *context)
{
	long number = *(const long *)context;

	if (confine() != 0)
		return FILTER_FAILED;
	syscall(number, 0, 0, 0, 0, 0, 0);
	end(SURVIVED);
	return SURVIVED;
}

static void assert_dies_by_sigsys(int (*function)(void *context), void *context)
{
	OWN(child_result_release) struct child_result result = {0};

	assert_int_equal(run(function, context, &result), 0);
	if (result.signal != SIGSYS)
		fail_msg("call %ld: signal %d, status %d",
			 context ? *(long *)context : -1, result.signal,
			 result.exit_status);
}

static void a_forbidden_call_dies_by_sigsys(void **state)
{
	static const long forbidden[] = {
		SYS_socket,
		SYS_connect,
		SYS_openat,
		SYS_openat2,
		SYS_execve,
		SYS_execveat,
		SYS_clone,
		SYS_clone3,
		SYS_ptrace,
		SYS_mmap,
		SYS_mprotect,
		SYS_kill,
		SYS_getpid,
		SYS_read,
		SYS_setuid,
		SYS_seccomp,
		SYS_io_uring_setup,
		SYS_process_vm_readv,
		SYS_prctl,
		/* And numbers that no kernel knows. */
		1000,
		100000,
		-2,
		0x3fffffff,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		long number = forbidden[i];

		assert_dies_by_sigsys(call_confined, &number);
	}
}

static int use_what_is_allowed(void *context)
{
	(void)context;
	if (confine() != 0)
		return FILTER_FAILED;
	if (syscall(SYS_getppid) <= 0 || syscall(SYS_write, 1, "ok", 2) != 2 ||
	    syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		end(1);
	end(0);
	return 0;
}

static int write_elsewhere(void *context)
{
	if (confine() != 0)
		return FILTER_FAILED;
	syscall(SYS_write, *(const long *)context, "x", 1);
	return SURVIVED;
}

static int write_too_much(void *context)
{
	(void)context;
	if (confine() != 0)
		return FILTER_FAILED;
	syscall(SYS_write, 1, "xyz", 3);
	return SURVIVED;
}

static void arguments_are_part_of_the_list(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	long error = 2;

	(void)state;
	assert_int_equal(run(use_what_is_allowed, NULL, &result), 0);
	assert_int_equal(result.signal, 0);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.output.data, "ok");
	assert_dies_by_sigsys(write_elsewhere, &error);
	assert_dies_by_sigsys(write_too_much, NULL);
}

#ifdef __x86_64__
static int call_as_i386(void *context)
{
	long result;

	(void)context;
	if (confine() != 0)
		return FILTER_FAILED;
	/* 20 is getpid there, and writev here. */
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(20L)
			 : "memory", "r8", "r9", "r10", "r11");
	end(SURVIVED);
	return SURVIVED;
}

static int call_i386_unconfined(void *context)
{
	long result;

	(void)context;
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(20L)
			 : "memory", "r8", "r9", "r10", "r11");
	return result == getpid() ? 0 : 1;
}

static void a_foreign_architecture_dies_by_sigsys(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	long allowed_number = X32_BIT | SYS_getppid, forbidden = X32_BIT | SYS_getpid;

	(void)state;
	assert_dies_by_sigsys(call_confined, &allowed_number);
	assert_dies_by_sigsys(call_confined, &forbidden);
	assert_int_equal(run(call_i386_unconfined, NULL, &result), 0);
	if (result.signal != 0) {
		/* Then the instruction itself is a fault, filter or not. */
		print_message("this kernel has no i386 calls\n");
		return;
	}
	assert_dies_by_sigsys(call_as_i386, NULL);
}
#endif

static int change_nothing_back(void *context)
{
	struct diag diag = {0};

	(void)context;
	if (sandbox_drop_privileges(&diag) != 0)
		return DROP_FAILED;
	if (confine() != 0)
		return FILTER_FAILED;
	/* Undoing needs prctl(), and prctl() with another argument kills. */
	syscall(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	return SURVIVED;
}

static void nothing_can_be_taken_back(void **state)
{
	(void)state;
	assert_dies_by_sigsys(change_nothing_back, NULL);
}

static int list_nonsense(void *context)
{
	/* No call has an argument 9. */
	static const struct sandbox_call bad[] = {
		{SCMP_SYS(write), 1, {{9, SCMP_CMP_EQ, 1, 0}}}};
	struct diag diag = {0};

	(void)context;
	EXPECT(sandbox_filter(bad, 1, &diag) < 0);
	EXPECT(diag.kind == DIAG_UNDECIDED);
	return 0;
}

static void a_list_that_cannot_be_loaded_is_reported(void **state)
{
	(void)state;
	assert_passes(list_nonsense, NULL);
}

static int read_state(void *context)
{
	struct sandbox_state before, after;
	struct diag diag = {0};

	(void)context;
	EXPECT(sandbox_read_state(false, &before, &diag) == 0);
	EXPECT(!before.no_new_privs && !before.seccomp && !before.landlock);
	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(sandbox_read_state(true, &after, &diag) == 0);
	EXPECT(after.no_new_privs && !after.seccomp && after.landlock);
	return 0;
}

static void the_state_is_the_kernels(void **state)
{
	(void)state;
	assert_passes(read_state, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(privileges_stay_dropped),
		cmocka_unit_test(descriptors_are_closed),
		cmocka_unit_test(limits_only_go_down),
		cmocka_unit_test(files_are_restricted),
		cmocka_unit_test(a_forbidden_call_dies_by_sigsys),
		cmocka_unit_test(arguments_are_part_of_the_list),
#ifdef __x86_64__
		cmocka_unit_test(a_foreign_architecture_dies_by_sigsys),
#endif
		cmocka_unit_test(nothing_can_be_taken_back),
		cmocka_unit_test(a_list_that_cannot_be_loaded_is_reported),
		cmocka_unit_test(the_state_is_the_kernels),
	};

	if (geteuid() != 0) {
		puts("wants root: it has something to drop");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
