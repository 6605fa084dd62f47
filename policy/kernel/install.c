// SPDX-License-Identifier: GPL-2.0-or-later
// Opening and closing the window, as the worker unit does.
#include "policy/kernel/install.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/own.h"
#include "common/protected.h"
#include "policy/kernel/guard.h"
#include "policy/kernel/listing.h"
#include "policy/ruleset.h"

#define PROC_LIMIT 65536
/* Of the initial user namespace: include/linux/proc_ns.h, PROC_USER_INIT_INO. */
#define USER_INIT_INODE 0xEFFFFFFDU
/* Half of what a comparison allows (COMPARE_END_TOLERANCE_MS). */
#define LOAD_LATE_MS 1000
#define LOAD_TRIES 4

static int read_proc(const char *path, struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, path, "cannot be opened");
	return protected_read_fd(fd, PROC_LIMIT, path, ret_bytes, diag);
}

/* The line "0::/system.slice/UNIT" (cgroups(7)); the others are of version 1. */
static int check_cgroup(const struct site *site, struct diag *diag)
{
	static const char path[] = "/proc/self/cgroup";
	OWN(own_bytes) struct bytes bytes = {0};
	char wanted[SITE_CGROUP_SIZE];
	int error = read_proc(path, &bytes, diag);
	char *line;
	size_t length;

	if (error)
		return error;
	assert(bytes.data); /* protected_read_fd() always gives a text */
	site_worker_cgroup(site, wanted);
	line = strncmp(bytes.data, "0::/", 4) == 0 ? bytes.data
						   : strstr(bytes.data, "\n0::/");
	if (!line)
		return diag_refuse(diag, path,
				   "no cgroup of version 2; boot with "
				   "systemd.unified_cgroup_hierarchy=1");
	line = strstr(line, "0::/") + 4;
	length = strcspn(line, "\n");
	if (length != strlen(wanted) || strncmp(line, wanted, length) != 0)
		return diag_refuse(
			diag, path,
			"this is /%.*s, not /%s: only the worker unit installs; "
			"'systemctl start' that one",
			(int)length, line, wanted);
	return 0;
}

static int check_namespaces(struct diag *diag)
{
	static const char own[] = "/proc/self/ns/cgroup", first[] = "/proc/1/ns/cgroup";
	struct stat one, two, user;

	if (stat(own, &one) != 0)
		return diag_fail(diag, errno, own, "cannot be examined");
	if (stat(first, &two) != 0)
		return diag_fail(diag, errno, first, "cannot be examined");
	if (one.st_ino != two.st_ino || one.st_dev != two.st_dev)
		return diag_refuse(diag, own,
				   "not PID 1's cgroup namespace: levels in rules would "
				   "count from elsewhere; run it in no container");
	if (stat("/proc/self/ns/user", &user) != 0)
		return diag_fail(diag, errno, "/proc/self/ns/user", "cannot be examined");
	if (user.st_ino != USER_INIT_INODE)
		return diag_refuse(
			diag, "/proc/self/ns/user",
			"not the initial user namespace: uids in rules would be "
			"others; run it in no container");
	return 0;
}

int install_check_place(const struct site *site, struct diag *diag)
{
	int error = check_cgroup(site, diag);

	return error ? error : check_namespaces(diag);
}

/* Compiles the policy as of now and loads it. `ret_late_ms` is how much later it was
 * in force: so much longer than the window its elements live. */
static int load_once(const struct install_request *request, const struct profile *profile,
		     int64_t *ret_late_ms, struct diag *diag)
{
	OWN(own_bytes) struct bytes text = {0};
	int64_t now_ms = clock_wall_ms();
	int error = profile_check(profile, request->site, request->mode, now_ms,
				  request->profile_path, diag);

	if (!error)
		error = ruleset_compile(request->site, profile, request->uid,
					request->subjects, now_ms, RULESET_RELOAD, &text,
					diag);
	if (!error)
		error = listing_load(text.data, diag);
	*ret_late_ms = clock_wall_ms() - now_ms;
	return error;
}

/* On a busy machine loading takes its time; a second try is as of then. */
static int load_policy(const struct install_request *request, struct profile *ret_profile,
		       struct diag *diag)
{
	int error = profile_read(request->profile_path, 0, ret_profile, diag);
	int64_t late_ms = INT64_MAX;

	for (int tries = 0; !error && late_ms > LOAD_LATE_MS && tries < LOAD_TRIES;
	     tries++)
		error = load_once(request, ret_profile, &late_ms, diag);
	return error;
}

/* The cause stands; that the guard could not be loaded again is said beside it. */
static void restore_guard(const struct install_request *request, struct diag *diag)
{
	char line[DIAG_TEXT_SIZE / 2];
	struct diag cause = *diag, again = {0};

	if (guard_load(request->site->table, request->subjects, &again) == 0)
		return;
	diag_render(&again, line, sizeof(line));
	*diag = (struct diag){0};
	diag_fail(diag, 0, cause.place, "%.300s; and the guard was not restored: %s",
		  cause.text, line);
}

int install_policy(const struct install_request *request, struct profile *ret_profile,
		   struct diag *diag)
{
	struct profile profile;
	int error = install_check_place(request->site, diag);

	if (!error)
		error = guard_load(request->site->table, request->subjects, diag);
	if (error)
		return error;
	error = load_policy(request, &profile, diag);
	if (error) {
		restore_guard(request, diag);
		return error;
	}
	*ret_profile = profile;
	return 0;
}
