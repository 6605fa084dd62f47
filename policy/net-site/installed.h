/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a site is on this host already, and whether it could be used. */
#ifndef POLICY_NET_SITE_INSTALLED_H
#define POLICY_NET_SITE_INSTALLED_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/diag.h"
#include "policy/layout.h"
#include "policy/site.h"

struct installed {
	bool has_account; /* the workload user */
	uid_t uid;
	bool has_runner;
	bool has_profile;
};

/* Looks. What is not there yet is no refusal; what is there, and what a
 * collection would refuse later (SPEC 5.1, 7.1), is: a runner that somebody else
 * could replace, a folder on the way to it, a profile of another version, for
 * other endpoints or with too long a window. `name` is what messages call the
 * site file. */
int installed_look(const struct site *site, const struct layout *layout, const char *name,
		   struct installed *ret_installed, struct diag *diag);

#endif
