/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving up what a process does not need: privileges, then system calls. */
#ifndef COMMON_SANDBOX_H
#define COMMON_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seccomp.h>

#include "common/diag.h"

/*
 * Theory of operation
 *
 * In this order, each step failing closed (the process must end if one fails):
 * stray descriptors are closed; what is needed is opened by the caller;
 * sandbox_drop_privileges(); sandbox_limit() for each rlimit;
 * sandbox_restrict_files(); sandbox_filter(). After it the first byte that
 * somebody else wrote may be read.
 *
 * Plain prctl() and capset(): the static archive of libcap-ng reads accounts and
 * name services, which the agent must not contain.
 */

/* Whether this is a build with AddressSanitizer, which is for tests alone. Its runtime
 * maps terabytes and, at exit, traces: such a program leaves out its limits and its
 * filter, and what it reports of itself must say so. */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_IS_SANITIZED true
#endif
#endif
#ifndef SANDBOX_IS_SANITIZED
#define SANDBOX_IS_SANITIZED false
#endif

#define SANDBOX_CONDITIONS_MAX 2

/* One allowed system call: its number (SCMP_SYS()), and what its arguments must
 * be, all at once; no condition allows every argument. */
struct sandbox_call {
	int number;
	unsigned int condition_count;
	struct scmp_arg_cmp conditions[SANDBOX_CONDITIONS_MAX];
};

/* Closes every descriptor from `first` on. */
int sandbox_close_descriptors(unsigned int first, struct diag *diag);

/* Empties the bounding set, where CAP_SETPCAP allows: before the user changes. */
int sandbox_drop_bounding_set(struct diag *diag);

/* Makes the process not dumpable, sets no-new-privileges, empties the ambient,
 * bounding (where CAP_SETPCAP allows), inheritable, permitted and effective
 * capability sets, and proves it by reading them back. */
int sandbox_drop_privileges(struct diag *diag);

/* Lowers both limits of `resource` (RLIMIT_…, setrlimit(2)) to `value`, or leaves
 * them where they are lower already. */
int sandbox_limit(int resource, uint64_t value, struct diag *diag);

/* What may still be done below a directory: Landlock's rights
 * (LANDLOCK_ACCESS_FS_…, linux/landlock.h). */
struct sandbox_path {
	int fd; /* of the directory; O_PATH serves */
	uint64_t rights;
};

/* Takes away every right that the kernel's Landlock knows on the whole file system,
 * but for `paths`, and proves it by trying to read "/". Network and signals are not
 * touched. A kernel without Landlock is no error: then `*ret_is_enforced` is false. */
int sandbox_restrict_files(const struct sandbox_path *paths, size_t count,
			   bool *ret_is_enforced, struct diag *diag);

/* What is in force, as the kernel answers (Landlock has no such question: there it
 * is what sandbox_restrict_files() proved). */
struct sandbox_state {
	bool no_new_privs, seccomp, landlock;
};

/* Reads no-new-privileges and the filter back. syscalls: prctl */
int sandbox_read_state(bool is_landlocked, struct sandbox_state *ret_state,
		       struct diag *diag);

/* Installs an allow-list: any other call, and any call of a foreign
 * architecture, kills the process (SECCOMP_RET_KILL_PROCESS). */
int sandbox_filter(const struct sandbox_call *calls, size_t count, struct diag *diag);

#endif
