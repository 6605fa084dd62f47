/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening and closing the window, as the worker unit does. */
#ifndef POLICY_KERNEL_INSTALL_H
#define POLICY_KERNEL_INSTALL_H

#include <stdint.h>

#include "common/diag.h"
#include "policy/profile.h"
#include "policy/site.h"
#include "policy/subjects.h"

/*
 * Theory of operation
 *
 * install, in the worker unit's ExecStartPre, takes the host from any state to
 * the window, or to the guard and a refusal:
 *
 *	1. the place: this process is in the worker unit's own cgroup, and in PID 1's
 *	   cgroup namespace and the initial user namespace. Elsewhere the rules
 *	   would mean something else, and a window would be cut for nobody's good.
 *	   Nothing has been changed if this fails;
 *	2. the guard, over netlink: whatever was loaded ends here, a table of
 *	   another shape included;
 *	3. the profile, read and checked;
 *	4. the policy, compiled and loaded through libnftables in one transaction.
 *
 * A failure after 2 loads the guard again before it is reported: a child that was
 * killed at its deadline may have committed the policy.
 */

struct install_request {
	const struct site *site;
	const char *profile_path;
	uint32_t uid; /* the workload user's */
	const struct subjects *subjects;
	enum profile_mode mode;
};

/* Does all of the above. `ret_profile` is what was installed. */
int install_policy(const struct install_request *request, struct profile *ret_profile,
		   struct diag *diag);

/* Step 1 alone. */
int install_check_place(const struct site *site, struct diag *diag);

#endif
