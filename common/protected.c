// SPDX-License-Identifier: GPL-2.0-or-later
// Files nobody else can have changed: protected and private paths.
#include "common/protected.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/json_table.h"

static int open_component(int parent, const char *name, uint64_t flags)
{
	struct open_how how = {
		/* Not O_NOFOLLOW: a link to a directory would then be reported as "not
		 * a directory". RESOLVE_NO_SYMLINKS refuses every link, ELOOP. */
		.flags = flags | O_CLOEXEC,
		/* "/" itself is beneath nothing. */
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   (parent == AT_FDCWD ? 0 : RESOLVE_BENEATH),
	};

	return (int)syscall(SYS_openat2, parent, name, &how, sizeof(how));
}

/* The start of `path` up to the component that ends at `end`, for a message. */
static const char *shown(const char *path, const char *end, char *text, size_t size)
{
	snprintf(text, size, "%.*s", end == path ? 1 : (int)(end - path), path);
	return text;
}

/* What the component that ends at `end` is opened for. Ancestors are only walked
 * through, which needs no permission to read them. */
static uint64_t open_flags(const char *end, bool is_directory)
{
	bool is_last = !*end || !end[1]; /* the second for "/" alone */

	if (!is_last)
		return O_PATH | O_DIRECTORY;
	return O_RDONLY | O_NONBLOCK | (is_directory ? O_DIRECTORY : O_NOCTTY);
}

static int explain_open(int error, const char *place, struct diag *diag)
{
	switch (error) {
	case ENOENT:
		return diag_refuse(diag, place, "does not exist");
	case ELOOP:
		return diag_refuse(diag, place, "a symbolic link");
	case ENOTDIR:
		return diag_refuse(diag, place, "not a directory");
	case EACCES:
		return diag_refuse(diag, place, "no permission to open it");
	case ENXIO: /* a socket, or a device without a driver */
		return diag_refuse(diag, place, "not a regular file");
	default:
		return diag_fail(diag, error, place, "cannot be opened");
	}
}

static int check_owner(const struct stat *status, uid_t owner, const char *place,
		       struct diag *diag)
{
	if (status->st_uid != 0 && status->st_uid != owner)
		return diag_refuse(diag, place, "owned by uid %u, not by root%s",
				   status->st_uid, owner ? " or the running user" : "");
	if (status->st_mode & (S_IWGRP | S_IWOTH))
		return diag_refuse(diag, place, "writable by group or others (mode %04o)",
				   status->st_mode & 07777);
	return 0;
}

static int check_private(const struct stat *status, unsigned int flags, const char *place,
			 struct diag *diag)
{
	if ((flags & PROTECTED_PRIVATE) && (status->st_mode & (S_IRWXG | S_IRWXO)))
		return diag_refuse(diag, place, "open to group or others (mode %04o)",
				   status->st_mode & 07777);
	return 0;
}

static int check_file(const struct stat *status, unsigned int flags, uint64_t limit,
		      const char *place, struct diag *diag)
{
	if (!S_ISREG(status->st_mode))
		return diag_refuse(diag, place, "not a regular file");
	if (status->st_nlink != 1)
		return diag_refuse(diag, place, "has %lu links, not one",
				   (unsigned long)status->st_nlink);
	if ((uint64_t)status->st_size > limit)
		return diag_refuse(diag, place, "larger than %llu bytes",
				   (unsigned long long)limit);
	if ((flags & PROTECTED_EXECUTABLE) && !(status->st_mode & S_IXUSR))
		return diag_refuse(diag, place, "not executable by its owner");
	return check_private(status, flags, place, diag);
}

/* Opens what the component of `path` that ends at `end` names, below `parent`,
 * and checks what holds for every component. */
static int enter(int parent, const char *path, const char *name, const char *end,
		 bool is_directory, uid_t owner, int *ret_fd, struct stat *ret_status,
		 struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	char component[NAME_MAX + 1], place[DIAG_PLACE_SIZE];
	int error;

	shown(path, end, place, sizeof(place));
	if ((size_t)(end - name) >= sizeof(component))
		return diag_refuse(diag, place, "a component of more than %d bytes",
				   NAME_MAX);
	memcpy(component, name, (size_t)(end - name));
	component[end - name] = '\0';
	fd = open_component(parent, *component ? component : "/",
			    open_flags(end, is_directory));
	if (fd < 0)
		return explain_open(errno, place, diag);
	if (fstat(fd, ret_status) != 0)
		return diag_fail(diag, errno, place, "cannot be examined");
	error = check_owner(ret_status, owner, place, diag);
	if (error)
		return error;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Walks `path`; the last component is a directory or a file as asked. */
static int walk(const char *path, bool is_directory, uid_t owner, int *ret_fd,
		struct stat *ret_status, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	const char *name, *end = path;
	int error;

	if (!json_is_clean_path(path))
		return diag_refuse(diag, path, "not a clean absolute path");
	error = enter(AT_FDCWD, path, path, path, true, owner, &fd, ret_status, diag);
	while (!error && *end && end[1]) {
		int child = -1;
		bool is_last;

		name = end + 1;
		end = name + strcspn(name, "/");
		is_last = !*end;
		error = enter(fd, path, name, end, !is_last || is_directory, owner,
			      &child, ret_status, diag);
		if (error)
			break;
		own_fd(&fd);
		fd = child;
	}
	if (error)
		return error;
	*ret_fd = take_fd(&fd);
	return 0;
}

int protected_open(const char *path, uid_t owner, unsigned int flags, uint64_t limit,
		   int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct stat status = {0};
	int error = walk(path, false, owner, &fd, &status, diag);

	if (!error)
		error = check_file(&status, flags, limit, path, diag);
	if (error)
		return error;
	*ret_fd = take_fd(&fd);
	return 0;
}

int protected_open_directory(const char *path, uid_t owner, unsigned int flags,
			     int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct stat status = {0};
	int error = walk(path, true, owner, &fd, &status, diag);

	if (!error)
		error = check_private(&status, flags, path, diag);
	if (error)
		return error;
	*ret_fd = take_fd(&fd);
	return 0;
}

int protected_read_fd(int fd, uint64_t limit, const char *place, struct bytes *ret_bytes,
		      struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	size_t room = 0;
	ssize_t got;
	char *grown;

	for (;;) {
		if (bytes.size == room) {
			room = room ? 2 * room : 4096;
			grown = realloc(bytes.data, room + 1);
			if (!grown)
				return diag_no_memory(diag);
			bytes.data = grown;
		}
		got = read(fd, bytes.data + bytes.size, room - bytes.size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return diag_fail(diag, errno, place, "cannot be read");
		if (got == 0)
			break;
		bytes.size += (size_t)got;
		if (bytes.size > limit)
			return diag_refuse(diag, place, "larger than %llu bytes",
					   (unsigned long long)limit);
	}
	bytes.data[bytes.size] = '\0';
	*ret_bytes = take_bytes(&bytes);
	return 0;
}

int protected_read(const char *path, uid_t owner, unsigned int flags, uint64_t limit,
		   struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error = protected_open(path, owner, flags, limit, &fd, diag);

	return error ? error : protected_read_fd(fd, limit, path, ret_bytes, diag);
}
