/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several files in folders, written all at once or not at all. */
#ifndef POLICY_NET_SITE_TREE_H
#define POLICY_NET_SITE_TREE_H

#include <stddef.h>

#include "common/diag.h"
#include "common/own.h"

struct tree_file {
	struct bytes path; /* relative, with its folders: "sysusers.d/x.conf" */
	struct bytes content;
};

void tree_file_release(struct tree_file *file);

/* Writes the files, mode 0644, their folders 0755, to a new folder beside `path`,
 * syncs them, and gives the folder its name. `path` must not exist, or be an
 * empty folder: nothing is ever replaced. After a failure nothing remains. */
int tree_write(const char *path, const struct tree_file *files, size_t count,
	       struct diag *diag);

#endif
