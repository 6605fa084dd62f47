// SPDX-License-Identifier: GPL-2.0-or-later
// collector/confine: what is kept is what docs/capabilities.md lists, and no more; what
// could change the host under the collection dies by SIGSYS. Each case is a process of
// its own.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cap-ng.h>

#include "collector/confine.h"
#include "common/child.h"

enum { UNCONFINED = 90, SURVIVED = 91, DEADLINE_MS = 10 * 60 * 1000 };

static void run(int (*function)(void *context), void *context,
		struct child_result *ret_result)
{
	const struct child_spec spec = {.function = function,
					.context = context,
					.timeout_ms = DEADLINE_MS,
					.output_limit = 1 << 16,
					.error_limit = 1 << 16};
	struct diag diag = {0};

	assert_int_equal(child_run(&spec, ret_result, &diag), 0);
}

/* --- capabilities ----------------------------------------------------------------- */

/* The names in the first column of the table in docs/capabilities.md. */
static uint64_t read_documented(void)
{
	OWN(own_file) FILE *file = fopen("docs/capabilities.md", "re");
	bool is_privilege = false;
	uint64_t found = 0;
	char line[4096];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *end = strstr(line, "` |"), *at = line;

		if (line[0] == '#')
			is_privilege =
				strcmp(line, "## net-collector and net-preflight\n") == 0;
		if (!is_privilege || strncmp(line, "| `CAP_", 7) != 0 || !end)
			continue;
		*end = '\0';
		/* A step is named. */
		assert_true(strlen(end + 3) > 8);
		while ((at = strstr(at, "CAP_"))) {
			int number;
			size_t length;

			at += strlen("CAP_");
			length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
			at[length] = at[length] ? ' ' : '\0';
			{
				char name[64] = "";

				memcpy(name, at, length);
				number = capng_name_to_capability(name);
				if (number < 0)
					fail_msg("no capability: %s", name);
			}
			found |= 1ULL << number;
			at += length;
		}
	}
	return found;
}

struct sets {
	uint64_t effective, permitted, inheritable, bounding, ambient;
	int no_new_privs, seccomp;
};

static uint64_t read_bits(bool (*is_set)(unsigned long))
{
	uint64_t bits = 0;

	for (unsigned long i = 0; i < 64; i++)
		bits |= is_set(i) ? 1ULL << i : 0;
	return bits;
}

static bool is_bounding(unsigned long capability)
{
	return prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
}

static bool is_ambient(unsigned long capability)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1;
}

static int tell_sets(void *context)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	struct diag diag = {0};
	struct sets sets;

	(void)context;
	if (confine_collector(&diag) || syscall(SYS_capget, &header, data) != 0)
		return UNCONFINED;
	sets.effective = data[0].effective | (uint64_t)data[1].effective << 32;
	sets.permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	sets.inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	sets.bounding = read_bits(is_bounding);
	sets.ambient = read_bits(is_ambient);
	sets.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	sets.seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	return write(1, &sets, sizeof(sets)) == sizeof(sets) ? 0 : UNCONFINED;
}

static void test_what_is_kept_is_what_is_documented(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	uint64_t documented = read_documented();
	struct sets sets;

	(void)state;
	assert_true(documented & 1ULL << CAP_NET_ADMIN);
	run(tell_sets, NULL, &result);
	assert_int_equal(result.signal, 0);
	assert_int_equal(result.exit_status, 0);
	assert_int_equal(result.output.size, sizeof(sets));
	memcpy(&sets, result.output.data, sizeof(sets));
	assert_int_equal(sets.effective, documented);
	assert_int_equal(sets.permitted, documented);
	assert_int_equal(sets.bounding, documented);
	assert_int_equal(sets.inheritable, 0);
	assert_int_equal(sets.ambient, 0);
	assert_int_equal(sets.no_new_privs, 1);
	assert_int_equal(sets.seccomp, 2);
}

/* --- system calls ----------------------------------------------------------------- */

#define CALL(name_)                                                                      \
	{                                                                                \
#name_, SYS_##name_                                                      \
	}

static const struct {
	const char *name;
	long number;
} forbidden[] = {
	/* the kernel */
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(reboot),
	CALL(syslog),
	CALL(perf_event_open),
	CALL(io_uring_setup),
	CALL(userfaultfd),
	CALL(personality),
	CALL(acct),
	CALL(swapon),
	CALL(quotactl),
	CALL(sethostname),
	/* mounts */
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	CALL(open_tree),
	CALL(move_mount),
	CALL(fsopen),
	CALL(fsmount),
	CALL(open_by_handle_at),
	CALL(fanotify_init),
	/* the clock */
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(settimeofday),
	CALL(adjtimex),
	/* keys */
	CALL(add_key),
	CALL(request_key),
	CALL(keyctl),
	/* other processes */
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(pidfd_getfd),
	CALL(kcmp),
#ifdef __x86_64__
	CALL(iopl),
	CALL(ioperm),
	CALL(modify_ldt),
	/* The same calls by the numbers of another architecture. */
	{"x32's getpid", 0x40000000 + SYS_getpid},
#endif
};

static int attempt(void *context)
{
	const long *number = context;
	struct diag diag = {0};

	if (confine_collector(&diag))
		return UNCONFINED;
	/* Arguments that none of them could do anything with. */
	syscall(*number, -1L, -1L, -1L, -1L, -1L, -1L);
	return SURVIVED;
}

static void test_what_could_change_the_host_dies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		OWN(child_result_release) struct child_result result = {0};
		long number = forbidden[i].number;

		run(attempt, &number, &result);
		if (result.signal != SIGSYS)
			fail_msg("%s: signal %d, status %d", forbidden[i].name,
				 result.signal, result.exit_status);
	}
}

static void test_what_is_needed_does_not(void **state)
{
	static const long needed[] = {SYS_getpid, SYS_bpf,   SYS_setns,
				      SYS_openat, SYS_statx, SYS_pidfd_open};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		OWN(child_result_release) struct child_result result = {0};
		long number = needed[i];

		run(attempt, &number, &result);
		assert_int_equal(result.signal, 0);
		assert_int_equal(result.exit_status, SURVIVED);
	}
}

/* Children have no way out of it. */
static int attempt_in_a_program(void *context)
{
	struct diag diag = {0};

	(void)context;
	if (confine_collector(&diag))
		return UNCONFINED;
	execl("/bin/umount", "umount", "/nowhere-at-all", (char *)NULL);
	return SURVIVED;
}

static void test_it_holds_for_what_is_executed(void **state)
{
	OWN(child_result_release) struct child_result result = {0};

	(void)state;
	run(attempt_in_a_program, NULL, &result);
	assert_int_equal(result.signal, SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_kept_is_what_is_documented),
		cmocka_unit_test(test_what_could_change_the_host_dies),
		cmocka_unit_test(test_what_is_needed_does_not),
		cmocka_unit_test(test_it_holds_for_what_is_executed),
	};

	return cmocka_run_group_tests_name("confine", tests, NULL, NULL);
}
