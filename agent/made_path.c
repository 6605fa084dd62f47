// SPDX-License-Identifier: GPL-2.0-or-later
// A path this process made, and takes away again if it is still that.
#include "agent/made_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json_table.h"
#include "common/own.h"

int made_path_open(const char *path, struct made_path *ret_made, struct diag *diag)
{
	OWN(own_pointer) char *directory = NULL;
	struct made_path made = {.path = path, .directory_fd = -1};
	size_t length;

	if (!json_is_clean_path(path) || !path[1])
		return diag_usage(diag, path, "not a clean absolute path");
	made.name = strrchr(path, '/') + 1;
	length = (size_t)(made.name - path) - 1;
	directory = strndup(path, length ? length : 1);
	if (!directory)
		return diag_no_memory(diag);
	made.directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (made.directory_fd < 0)
		return diag_refuse(diag, directory, "%s", strerror(errno));
	*ret_made = made;
	return 0;
}

static int look(const struct made_path *made, struct stat *ret_status)
{
	return fstatat(made->directory_fd, made->name, ret_status, AT_SYMLINK_NOFOLLOW);
}

int made_path_remember(struct made_path *made, struct diag *diag)
{
	struct stat status;

	if (look(made, &status) != 0)
		return diag_fail(diag, errno, made->path, "cannot be examined");
	made->device = status.st_dev;
	made->inode = status.st_ino;
	made->is_made = true;
	return 0;
}

void made_path_remove(struct made_path *made)
{
	struct stat status;

	if (!made->is_made)
		return;
	made->is_made = false;
	if (look(made, &status) == 0 && status.st_dev == made->device &&
	    status.st_ino == made->inode)
		unlinkat(made->directory_fd, made->name, 0);
}

void made_path_close(struct made_path *made)
{
	own_fd(&made->directory_fd);
}
