// SPDX-License-Identifier: GPL-2.0-or-later
// The workload user's account on this host.
#include "policy/kernel/account.h"

#include <errno.h>
#include <pwd.h>

#define BUFFER_SIZE 16384 /* one line of /etc/passwd, at the very most */

int account_find(const struct site *site, uint32_t *ret_uid, struct diag *diag)
{
	const char *user = site->workload_user;
	struct passwd account, *found = NULL;
	char buffer[BUFFER_SIZE];
	int error = getpwnam_r(user, &account, buffer, sizeof(buffer), &found);

	/* Not found may be told by these errors, too: getpwnam(3). */
	if (error && error != ENOENT && error != ESRCH)
		return diag_fail(diag, error, "workload_user",
				 "account %s cannot be looked up", user);
	if (error || !found)
		return diag_refuse(
			diag, "workload_user",
			"no account %s on this host; systemd-sysusers makes it "
			"from the site's rendered file",
			user);
	if (account.pw_uid == 0)
		return diag_refuse(diag, "workload_user",
				   "%s is uid 0; give the site another workload_user",
				   user);
	*ret_uid = account.pw_uid;
	return 0;
}
