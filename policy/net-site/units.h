/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A site's units, accounts and folders as files, in memory. */
#ifndef POLICY_NET_SITE_UNITS_H
#define POLICY_NET_SITE_UNITS_H

#include <sys/types.h>

#include "common/diag.h"
#include "policy/layout.h"
#include "policy/net-site/templates.h"
#include "policy/net-site/tree.h"
#include "policy/site.h"

struct units_request {
	const struct site *site;
	const struct layout *layout;
	const char *site_path; /* where the units find the site file */
	uid_t uid;             /* of the workload user */
};

/* Renders every template. The caller owns the files' contents and paths, and
 * releases them with tree_file_release(), on success alone. */
int units_render(const struct units_request *request,
		 struct tree_file ret_files[TEMPLATES_COUNT], struct diag *diag);

#endif
