// SPDX-License-Identifier: GPL-2.0-or-later
// What of a site is on this host already, and whether it could be used.
#include "policy/net-site/installed.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/protected.h"
#include "policy/profile.h"

#define ACCOUNT_BUFFER_SIZE 16384 /* one line of /etc/passwd, at the very most */
#define RUNNER_LIMIT (64 << 20)

static int look_account(const struct site *site, const char *name,
			struct installed *installed, struct diag *diag)
{
	char buffer[ACCOUNT_BUFFER_SIZE], place[DIAG_PLACE_SIZE];
	struct passwd account, *found = NULL;
	int error =
		getpwnam_r(site->workload_user, &account, buffer, sizeof(buffer), &found);

	snprintf(place, sizeof(place), "%s: workload_user", name);
	/* Not found may be told by these errors, too: getpwnam(3). */
	if (error && error != ENOENT && error != ESRCH)
		return diag_fail(diag, error, place, "the account cannot be looked up");
	if (error || !found)
		return 0;
	if (account.pw_uid == 0)
		return diag_refuse(diag, place,
				   "\"%s\" is uid 0: workloads cannot be "
				   "root's; give another workload_user",
				   site->workload_user);
	installed->has_account = true;
	installed->uid = account.pw_uid;
	return 0;
}

/* Whether there is something of that name, whatever it is. */
static int is_there(const char *path, bool *ret_is_there, struct diag *diag)
{
	struct stat status;

	if (lstat(path, &status) == 0)
		*ret_is_there = true;
	else if (errno == ENOENT || errno == ENOTDIR)
		*ret_is_there = false;
	else
		return diag_fail(diag, errno, path, "cannot be examined");
	return 0;
}

/* The deepest folder on the way to `path` that exists must be one in which nobody
 * but root can put what does not exist yet. */
static int check_way(const char *path, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	char folder[LAYOUT_PATH_SIZE];
	bool is_found = false;
	char *end;

	snprintf(folder, sizeof(folder), "%s", path);
	while (!is_found && (end = strrchr(folder, '/')) && end != folder) {
		int error;

		*end = '\0';
		error = is_there(folder, &is_found, diag);
		if (error)
			return error;
	}
	return protected_open_directory(is_found ? folder : "/", 0, 0, &fd, diag);
}

static int look_runner(const struct layout *layout, struct installed *installed,
		       struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error = check_way(layout->probe, diag);

	if (!error)
		error = is_there(layout->probe, &installed->has_runner, diag);
	if (error || !installed->has_runner)
		return error;
	return protected_open(layout->probe, 0, PROTECTED_EXECUTABLE, RUNNER_LIMIT, &fd,
			      diag);
}

/* Whether it is fresh is asked at each start; all else that would be refused then
 * is refused here, as if it had just been issued. */
static int look_profile(const struct site *site, struct installed *installed,
			struct diag *diag)
{
	struct profile profile;
	int error = check_way(site->profile, diag);

	if (!error)
		error = is_there(site->profile, &installed->has_profile, diag);
	if (error || !installed->has_profile)
		return error;
	error = profile_read(site->profile, 0, &profile, diag);
	return error ? error
		     : profile_check(&profile, site, PROFILE_MODE_NETWORK_ENFORCEMENT,
				     profile.issued_at_unix * 1000, site->profile, diag);
}

int installed_look(const struct site *site, const struct layout *layout, const char *name,
		   struct installed *ret_installed, struct diag *diag)
{
	struct installed installed = {0};
	int error = look_account(site, name, &installed, diag);

	if (!error)
		error = look_runner(layout, &installed, diag);
	if (!error)
		error = look_profile(site, &installed, diag);
	if (error)
		return error;
	*ret_installed = installed;
	return 0;
}
