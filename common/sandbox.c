// SPDX-License-Identifier: GPL-2.0-or-later
// Giving up what a process does not need: privileges, then system calls.
#include "common/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/own.h"

#define CAPABILITY_LIMIT 64 /* two 32-bit words: _LINUX_CAPABILITY_VERSION_3 */

int sandbox_close_descriptors(unsigned int first, struct diag *diag)
{
	if (syscall(SYS_close_range, first, ~0U, 0) != 0)
		return diag_fail(diag, errno, NULL, "close_range");
	return 0;
}

int sandbox_drop_bounding_set(struct diag *diag)
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
	error = sandbox_drop_bounding_set(diag);
	if (error)
		return error;
	if (syscall(SYS_capset, &header, none) != 0)
		return diag_fail(diag, errno, NULL, "capset");
	return prove_dropped(diag);
}

int sandbox_limit(int resource, uint64_t value, struct diag *diag)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return diag_fail(diag, errno, NULL, "getrlimit %d", resource);
	if (value < limit.rlim_max)
		limit.rlim_max = value;
	if (value < limit.rlim_cur)
		limit.rlim_cur = value;
	if (setrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return diag_fail(diag, errno, NULL, "setrlimit %d", resource);
	return 0;
}

/* The rights that each version of Landlock's interface knows, as the first bits of
 * one number (linux/landlock.h, LANDLOCK_ACCESS_FS_EXECUTE and on): 13 at first,
 * then REFER, TRUNCATE and, with version 5, IOCTL_DEV. */
static uint64_t landlock_rights(long version)
{
	unsigned int bits = 13;

	if (version >= 2)
		bits++;
	if (version >= 3)
		bits++;
	if (version >= 5)
		bits++;
	return (UINT64_C(1) << bits) - 1;
}

static int add_paths(int ruleset, const struct sandbox_path *paths, size_t count,
		     uint64_t known, struct diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		struct landlock_path_beneath_attr rule = {
			.allowed_access = paths[i].rights & known,
			.parent_fd = paths[i].fd,
		};

		if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
			    &rule, 0) != 0)
			return diag_fail(diag, errno, NULL, "landlock_add_rule");
	}
	return 0;
}

static int prove_restricted(struct diag *diag)
{
	OWN(own_fd) int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return diag_fail(diag, 0, NULL, "files can be read in spite of Landlock");
	return 0;
}

int sandbox_restrict_files(const struct sandbox_path *paths, size_t count,
			   bool *ret_is_enforced, struct diag *diag)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attributes = {0};
	OWN(own_fd) int ruleset = -1;
	int error;

	/* ENOSYS: not in the kernel; EOPNOTSUPP: not switched on; EPERM: a filter
	 * around us (a container engine's) that does not know the call. */
	if (version < 0 && (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM)) {
		*ret_is_enforced = false;
		return 0;
	}
	if (version < 0)
		return diag_fail(diag, errno, NULL, "landlock_create_ruleset");
	attributes.handled_access_fs = landlock_rights(version);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes,
			       sizeof(attributes), 0);
	if (ruleset < 0)
		return diag_fail(diag, errno, NULL, "landlock_create_ruleset");
	error = add_paths(ruleset, paths, count, attributes.handled_access_fs, diag);
	if (error)
		return error;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		return diag_fail(diag, errno, NULL, "landlock_restrict_self");
	error = prove_restricted(diag);
	if (error)
		return error;
	*ret_is_enforced = true;
	return 0;
}

int sandbox_read_state(bool is_landlocked, struct sandbox_state *ret_state,
		       struct diag *diag)
{
	int no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	int seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	if (no_new_privs < 0 || seccomp < 0)
		return diag_fail(diag, errno, NULL, "the confinement cannot be read");
	ret_state->no_new_privs = no_new_privs == 1;
	ret_state->seccomp = seccomp == SECCOMP_MODE_FILTER;
	ret_state->landlock = is_landlocked;
	return 0;
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
