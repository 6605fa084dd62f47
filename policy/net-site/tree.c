// SPDX-License-Identifier: GPL-2.0-or-later
// Several files in folders, written all at once or not at all.
#include "policy/net-site/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void tree_file_release(struct tree_file *file)
{
	own_bytes(&file->path);
	own_bytes(&file->content);
}

/* Calls `visit` with each folder of `path`, outermost first. */
static int for_each_folder(int root, const char *path, int (*visit)(int, const char *))
{
	char folder[PATH_MAX];

	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		int error;

		if (snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path) >=
		    (int)sizeof(folder))
			return -ENAMETOOLONG;
		error = visit(root, folder);
		if (error)
			return error;
	}
	return 0;
}

/* The mode is given again: the umask takes from what mkdirat() and openat() give. */
static int make_folder(int root, const char *folder)
{
	if (mkdirat(root, folder, 0755) != 0)
		return errno == EEXIST ? 0 : -errno;
	return fchmodat(root, folder, 0755, 0) == 0 ? 0 : -errno;
}

static int sync_folder(int root, const char *folder)
{
	OWN(own_fd) int fd = openat(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && fsync(fd) == 0 ? 0 : -errno;
}

static int write_all(int fd, const struct bytes *content)
{
	for (size_t done = 0; done < content->size;) {
		ssize_t count = write(fd, content->data + done, content->size - done);

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count > 0)
			done += (size_t)count;
	}
	return 0;
}

static int write_file(int root, const struct tree_file *file)
{
	OWN(own_fd) int fd = -1;
	int error = for_each_folder(root, file->path.data, make_folder);

	if (error)
		return error;
	fd = openat(root, file->path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	error = write_all(fd, &file->content);
	if (error)
		return error;
	if (fchmod(fd, 0644) != 0 || fsync(fd) != 0)
		return -errno;
	return for_each_folder(root, file->path.data, sync_folder);
}

/* What is not there was not made yet; a folder that still holds files goes with
 * the last of them. */
static void remove_file(int root, const char *path)
{
	char folder[PATH_MAX];
	char *end;

	snprintf(folder, sizeof(folder), "%s", path);
	(void)unlinkat(root, folder, 0);
	while ((end = strrchr(folder, '/'))) {
		*end = '\0';
		(void)unlinkat(root, folder, AT_REMOVEDIR);
	}
}

static int write_files(int root, const char *path, const struct tree_file *files,
		       size_t count, struct diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		int error = write_file(root, &files[i]);

		if (error)
			return diag_fail(diag, -error, path, "%s cannot be written",
					 files[i].path.data);
	}
	if (fchmod(root, 0755) != 0 || fsync(root) != 0)
		return diag_fail(diag, errno, path, "cannot be written");
	return 0;
}

/* rename() replaces an empty folder and nothing else. */
static int give_name(const char *made, const char *path, struct diag *diag)
{
	if (rename(made, path) == 0)
		return 0;
	switch (errno) {
	case ENOTEMPTY:
	case EEXIST:
		return diag_refuse(diag, path,
				   "not empty: give a new folder, or an empty one");
	case ENOTDIR:
		return diag_refuse(diag, path, "not a directory");
	default:
		return diag_fail(diag, errno, path, "cannot be created");
	}
}

int tree_write(const char *path, const struct tree_file *files, size_t count,
	       struct diag *diag)
{
	OWN(own_fd) int root = -1;
	char made[PATH_MAX];
	size_t length = strlen(path);
	int error;

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (snprintf(made, sizeof(made), "%.*s.XXXXXX", (int)length, path) >=
	    (int)sizeof(made))
		return diag_refuse(diag, path, "the path is too long");
	if (!mkdtemp(made))
		return diag_fail(diag, errno, path, "cannot be created");
	root = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = root >= 0 ? write_files(root, path, files, count, diag)
			  : diag_fail(diag, errno, path, "cannot be created");
	if (!error)
		error = give_name(made, path, diag);
	if (!error)
		return 0;
	for (size_t i = 0; root >= 0 && i < count; i++)
		remove_file(root, files[i].path.data);
	(void)rmdir(made); /* a failure is told by the first cause alone */
	return error;
}
