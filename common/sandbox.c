// SPDX-License-Identifier: GPL-2.0-or-later
// Giving up what a process does not need: privileges, then system calls.
#include "common/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY_LIMIT 64 /* two 32-bit words: _LINUX_CAPABILITY_VERSION_3 */

int sandbox_close_descriptors(unsigned int first, struct diag *diag)
{
	if (syscall(SYS_close_range, first, ~0U, 0) != 0)
		return diag_fail(diag, errno, NULL, "close_range");
	return 0;
}

static int drop_bounding_set(struct diag *diag)
{
	for (unsigned long capability = 0; capability < CAPABILITY_LIMIT; capability++) {
		int is_set = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);

		if (is_set < 0) /* EINVAL: the kernel knows no more of them */
			break;
		/* EPERM: without CAP_SETPCAP the set cannot be lowered. With
		 * no-new-privileges and nothing permitted it grants nothing. */
		if (is_set && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 &&
		    errno != EPERM)
			return diag_fail(diag, errno, NULL, "PR_CAPBSET_DROP");
	}
	return 0;
}

/* The drop is proved by reading it back and by trying to undo it. */
static int prove_dropped(struct diag *diag)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2], one[2] = {{0}};

	if (syscall(SYS_capget, &header, data) != 0)
		return diag_fail(diag, errno, NULL, "capget");
	for (int word = 0; word < 2; word++)
		if (data[word].effective | data[word].permitted | data[word].inheritable)
			return diag_fail(diag, 0, NULL,
					 "capabilities remain after capset");
	one[0].permitted = one[0].effective = 1U << CAP_NET_ADMIN;
	if (syscall(SYS_capset, &header, one) == 0)
		return diag_fail(diag, 0, NULL,
				 "a dropped capability could be taken back");
	for (unsigned long capability = 0; capability < CAPABILITY_LIMIT; capability++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1)
			return diag_fail(diag, 0, NULL, "ambient capabilities remain");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return diag_fail(diag, 0, NULL, "still dumpable, or may gain privileges");
	return 0;
}

int sandbox_drop_privileges(struct diag *diag)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	int error;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return diag_fail(diag, errno, NULL, "PR_SET_DUMPABLE");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return diag_fail(diag, errno, NULL, "PR_SET_NO_NEW_PRIVS");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return diag_fail(diag, errno, NULL, "PR_CAP_AMBIENT_CLEAR_ALL");
	error = drop_bounding_set(diag);
	if (error)
		return error;
	if (syscall(SYS_capset, &header, none) != 0)
		return diag_fail(diag, errno, NULL, "capset");
	return prove_dropped(diag);
}

static int add_calls(scmp_filter_ctx filter, const struct sandbox_call *calls,
		     size_t count)
{
	int error;

	for (size_t i = 0; i < count; i++) {
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i].number,
					       calls[i].condition_count,
					       calls[i].conditions);
		if (error)
			return error;
	}
	return 0;
}

int sandbox_filter(const struct sandbox_call *calls, size_t count, struct diag *diag)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error;

	if (!filter)
		return diag_no_memory(diag);
	error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* The kernel's own errno, not libseccomp's ECANCELED. */
	if (!error)
		error = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (!error)
		error = add_calls(filter, calls, count);
	if (!error)
		error = seccomp_load(filter);
	seccomp_release(filter);
	return error ? diag_fail(diag, -error, NULL, "system call filter") : 0;
}
