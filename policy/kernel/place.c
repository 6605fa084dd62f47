// SPDX-License-Identifier: GPL-2.0-or-later
// Whether cgroups are seen from here as the host's PID 1 sees them.
#include "policy/kernel/place.h"

#include <errno.h>
#include <sys/stat.h>

/* Of the initial cgroup namespace: include/linux/proc_ns.h, PROC_CGROUP_INIT_INO. */
#define CGROUP_INIT_INODE 0xEFFFFFFBU

int place_check_cgroups(struct diag *diag)
{
	static const char path[] = "/proc/self/ns/cgroup";
	struct stat own, first;
	int error;

	if (stat(path, &own) != 0)
		return diag_fail(diag, errno, path, "cannot be examined");
	if (stat("/proc/1/ns/cgroup", &first) == 0) {
		if (own.st_ino == first.st_ino && own.st_dev == first.st_dev)
			return 0;
		return diag_fail(diag, 0, path,
				 "not PID 1's cgroup namespace: cgroups are others from "
				 "here; run it outside of the container");
	}
	error = errno;
	if (own.st_ino == CGROUP_INIT_INODE)
		return 0;
	return diag_fail(diag, error, "/proc/1/ns/cgroup",
			 "is this PID 1's cgroup namespace? It cannot be examined");
}
