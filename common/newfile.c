// SPDX-License-Identifier: GPL-2.0-or-later
// A new file: all of it under its name, or nothing.
#include "common/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/json_table.h"
#include "common/own.h"
#include "common/protected.h"

static int open_folder(const char *path, const char **ret_name, int *ret_fd,
		       struct diag *diag)
{
	char folder[PATH_MAX];
	const char *slash;

	if (!json_is_clean_path(path) || !path[1])
		return diag_refuse(diag, path, "not a clean absolute path");
	slash = strrchr(path, '/');
	if ((size_t)(slash - path) >= sizeof(folder))
		return diag_refuse(diag, path, "too long");
	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path),
		 path);
	*ret_name = slash + 1;
	return protected_open_directory(folder, 0, 0, ret_fd, diag);
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t put = write(fd, data, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		data += put;
		size -= (size_t)put;
	}
	return 0;
}

int newfile_write(const char *path, mode_t mode, const void *data, size_t size,
		  const char *advice, struct diag *diag)
{
	OWN(own_fd) int folder = -1;
	OWN(own_fd) int fd = -1;
	char unnamed[64];
	const char *name;
	int error = open_folder(path, &name, &folder, diag);

	if (error)
		return error;
	fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return diag_fail(diag, errno, path, "no file can be made");
	/* The mode whatever the umask was. */
	if (fchmod(fd, mode) != 0)
		return diag_fail(diag, errno, path, "its mode cannot be set");
	error = write_all(fd, data, size);
	if (error)
		return diag_fail(diag, -error, path, "cannot be written");
	if (fsync(fd) != 0)
		return diag_fail(diag, errno, path, "cannot be synced");
	snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, unnamed, folder, name, AT_SYMLINK_FOLLOW) != 0) {
		if (errno == EEXIST)
			return diag_refuse(diag, path, "exists; %s", advice);
		return diag_fail(diag, errno, path, "cannot be linked into place");
	}
	if (fsync(folder) != 0)
		return diag_fail(diag, errno, path, "its folder cannot be synced");
	return 0;
}
