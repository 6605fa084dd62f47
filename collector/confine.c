// SPDX-License-Identifier: GPL-2.0-or-later
// What the collector keeps of root's power.
#include "collector/confine.h"

#include <errno.h>
#include <sys/prctl.h>

#include <cap-ng.h>
#include <seccomp.h>

#include "common/own.h"

/* Which step needs which is a table in docs/capabilities.md. */
static const unsigned int kept[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_KILL,    CAP_SETGID,    CAP_SETUID,
	CAP_SETPCAP, CAP_NET_ADMIN,    CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_PTRACE,
};

/* By name, because it holds for every child as well: the engine's client, systemctl,
 * libnftables and the agents that are our own. What is missing can change the
 * host's kernel, clock, mounts, keys or other processes' memory. */
static const char *const calls[] = {
	"accept",
	"accept4",
	"access",
	"alarm",
	"arch_prctl",
	"bind",
	"bpf",
	"brk",
	"capget",
	"capset",
	"chdir",
	"chmod",
	"chown",
	"clock_getres",
	"clock_gettime",
	"clock_nanosleep",
	"clone",
	"clone3",
	"close",
	"close_range",
	"connect",
	"copy_file_range",
	"dup",
	"dup2",
	"dup3",
	"epoll_create",
	"epoll_create1",
	"epoll_ctl",
	"epoll_pwait",
	"epoll_pwait2",
	"epoll_wait",
	"eventfd",
	"eventfd2",
	"execve",
	"execveat",
	"exit",
	"exit_group",
	"faccessat",
	"faccessat2",
	"fadvise64",
	"fallocate",
	"fchdir",
	"fchmod",
	"fchmodat",
	"fchmodat2",
	"fchown",
	"fchownat",
	"fcntl",
	"fdatasync",
	"fgetxattr",
	"flistxattr",
	"flock",
	"fork",
	"fstat",
	"fstatfs",
	"fsync",
	"ftruncate",
	"futex",
	"futex_waitv",
	"get_robust_list",
	"getcpu",
	"getcwd",
	"getdents64",
	"getegid",
	"geteuid",
	"getgid",
	"getgroups",
	"getitimer",
	"getpeername",
	"getpgid",
	"getpgrp",
	"getpid",
	"getppid",
	"getpriority",
	"getrandom",
	"getresgid",
	"getresuid",
	"getrlimit",
	"getrusage",
	"getsid",
	"getsockname",
	"getsockopt",
	"gettid",
	"gettimeofday",
	"getuid",
	"getxattr",
	"inotify_add_watch",
	"inotify_init",
	"inotify_init1",
	"inotify_rm_watch",
	"ioctl",
	"ioprio_get",
	"kill",
	"landlock_add_rule",
	"landlock_create_ruleset",
	"landlock_restrict_self",
	"lchown",
	"lgetxattr",
	"link",
	"linkat",
	"listen",
	"listxattr",
	"llistxattr",
	"lseek",
	"lstat",
	"madvise",
	"membarrier",
	"memfd_create",
	"name_to_handle_at",
	"mkdir",
	"mkdirat",
	"mknodat",
	"mlock",
	"mlock2",
	"mlockall",
	"mmap",
	"mprotect",
	"mremap",
	"msync",
	"munlock",
	"munlockall",
	"munmap",
	"nanosleep",
	"newfstatat",
	"open",
	"openat",
	"openat2",
	"pause",
	"pidfd_open",
	"pidfd_send_signal",
	"pipe",
	"pipe2",
	"poll",
	"ppoll",
	"prctl",
	"pread64",
	"preadv",
	"preadv2",
	"prlimit64",
	"pselect6",
	"pwrite64",
	"pwritev",
	"pwritev2",
	"read",
	"readahead",
	"readlink",
	"readlinkat",
	"readv",
	"recvfrom",
	"recvmmsg",
	"recvmsg",
	"rename",
	"renameat",
	"renameat2",
	"restart_syscall",
	"rmdir",
	"rseq",
	"rt_sigaction",
	"rt_sigpending",
	"rt_sigprocmask",
	"rt_sigqueueinfo",
	"rt_sigreturn",
	"rt_sigsuspend",
	"rt_sigtimedwait",
	"rt_tgsigqueueinfo",
	"sched_get_priority_max",
	"sched_get_priority_min",
	"sched_getaffinity",
	"sched_getattr",
	"sched_getparam",
	"sched_getscheduler",
	"sched_rr_get_interval",
	"sched_setaffinity",
	"sched_yield",
	"seccomp",
	"select",
	"sendfile",
	"sendmmsg",
	"sendmsg",
	"sendto",
	"set_robust_list",
	"set_tid_address",
	"setfsgid",
	"setfsuid",
	"setgid",
	"setgroups",
	"setitimer",
	"setns",
	"setpgid",
	"setregid",
	"setresgid",
	"setresuid",
	"setreuid",
	"setrlimit",
	"setsid",
	"setsockopt",
	"setuid",
	"shutdown",
	"sigaltstack",
	"signalfd",
	"signalfd4",
	"socket",
	"socketpair",
	"splice",
	"stat",
	"statfs",
	"statx",
	"sync_file_range",
	"sysinfo",
	"tgkill",
	"time",
	"timer_create",
	"timer_delete",
	"timer_getoverrun",
	"timer_gettime",
	"timer_settime",
	"timerfd_create",
	"timerfd_gettime",
	"timerfd_settime",
	"times",
	"truncate",
	"umask",
	"uname",
	"unlink",
	"unlinkat",
	"unshare",
	"utimensat",
	"vfork",
	"wait4",
	"waitid",
	"write",
	"writev",
};

static int keep_capabilities(struct diag *diag)
{
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (capng_update(CAPNG_ADD,
				 CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
				 kept[i]) != 0)
			return diag_fail(diag, 0, NULL, "capability %u is unknown",
					 kept[i]);
	/* Ambient ones are gone with the inheritable set they need. */
	if (capng_apply(CAPNG_SELECT_BOTH) != 0)
		return diag_fail(diag, errno, NULL, "capabilities cannot be given up");
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_MODULE) ||
	    capng_have_capability(CAPNG_BOUNDING_SET, CAP_SYS_MODULE))
		return diag_fail(diag, 0, NULL, "capabilities were not given up");
	return 0;
}

static void release_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
	*filter = NULL;
}

static int install_filter(struct diag *diag)
{
	OWN(release_filter) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error = filter ? 0 : -ENOMEM;

	if (!error)
		error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
					 SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; !error && i < ARRAY_SIZE(calls); i++) {
		int number = seccomp_syscall_resolve_name(calls[i]);

		/* One that this architecture or library does not have: not allowed. */
		if (number >= 0)
			error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	}
	if (!error)
		error = seccomp_load(filter);
	return error ? diag_fail(diag, -error, NULL, "no filter can be installed") : 0;
}

int confine_collector(struct diag *diag)
{
	int error = keep_capabilities(diag);

	if (error)
		return error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return diag_fail(diag, errno, NULL, "no-new-privileges cannot be set");
	return install_filter(diag);
}
