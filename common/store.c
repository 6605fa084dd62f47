// SPDX-License-Identifier: GPL-2.0-or-later
// The store: a private folder of objects named by their SHA-256.
#include "common/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/protected.h"

#define OBJECT_MODE 0400
#define CHUNK_SIZE 32768
/* What is read back gets no new access time, which would be journalled: the file belongs
 * to the caller, or is refused for its owner. */
#define READ_BACK O_NOATIME

/* Test builds leave one of the two syncs out, to see a power cut find it. */
static int sync_file(int fd)
{
#ifdef STORE_TEST_WITHOUT_FILE_SYNC
	return fd < 0 ? -1 : 0;
#else
	return fsync(fd);
#endif
}

static int sync_folder(int fd)
{
#ifdef STORE_TEST_WITHOUT_FOLDER_SYNC
	return fd < 0 ? -1 : 0;
#else
	return fsync(fd);
#endif
}

int store_open(const char *path, uid_t owner, struct store *ret_store, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct stat status;
	int error = protected_open_directory(path, owner, PROTECTED_PRIVATE, &fd, diag);

	if (error)
		return error;
	if (fstat(fd, &status) != 0)
		return diag_fail(diag, errno, path, "cannot be examined");
	*ret_store = (struct store){.fd = take_fd(&fd), .owner = status.st_uid};
	return 0;
}

void store_close(struct store *store)
{
	own_fd(&store->fd);
}

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFLNK:
		return "a symbolic link";
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	case S_IFBLK:
	case S_IFCHR:
		return "a device";
	default:
		return "of an unknown type";
	}
}

static int check_status(const struct store *store, const struct stat *status,
			uint64_t limit, const char *name, struct diag *diag)
{
	if (!S_ISREG(status->st_mode))
		return diag_refuse(diag, name, "%s, not a regular file",
				   type_name(status->st_mode));
	if (status->st_nlink != 1)
		return diag_refuse(diag, name, "has %lu links, not one",
				   (unsigned long)status->st_nlink);
	if (status->st_uid != store->owner)
		return diag_refuse(diag, name,
				   "owned by uid %u, not by the store's owner, uid %u",
				   status->st_uid, store->owner);
	if ((status->st_mode & 07777) != OBJECT_MODE)
		return diag_refuse(diag, name, "mode %04o, not %04o",
				   status->st_mode & 07777, OBJECT_MODE);
	if (status->st_size == 0)
		return diag_refuse(diag, name, "empty");
	if ((uint64_t)status->st_size > limit)
		return diag_refuse(diag, name, "larger than %llu bytes",
				   (unsigned long long)limit);
	return 0;
}

/*
 * Opens the object `name`, with `more_flags`. Its status is judged twice: by name, so
 * that nothing is opened that opening could set off (a device), and on the descriptor,
 * which is what the bytes are read from.
 */
static int open_object(const struct store *store, const char *name, uint64_t limit,
		       uint64_t more_flags, int *ret_fd, struct stat *ret_status,
		       struct diag *diag)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			 more_flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	OWN(own_fd) int fd = -1;
	struct stat status;
	int error;

	if (fstatat(store->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT
			       ? diag_refuse(diag, name, "no such object in the store")
			       : diag_fail(diag, errno, name, "cannot be examined");
	error = check_status(store, &status, limit, name, diag);
	if (error)
		return error;
	fd = (int)syscall(SYS_openat2, store->fd, name, &how, sizeof(how));
	if (fd < 0)
		return errno == EXDEV
			       ? diag_refuse(diag, name, "something is mounted on it")
			       : diag_fail(diag, errno, name, "cannot be opened");
	if (fstat(fd, &status) != 0)
		return diag_fail(diag, errno, name, "cannot be examined");
	error = check_status(store, &status, limit, name, diag);
	if (error)
		return error;
	*ret_fd = take_fd(&fd);
	*ret_status = status;
	return 0;
}

static int write_all(int fd, const char *data, size_t size)
{
	ssize_t written;

	for (size_t done = 0; done < size; done += (size_t)written) {
		written = write(fd, data + done, size - done);
		if (written < 0 && errno == EINTR)
			written = 0;
		else if (written <= 0)
			return written < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Compares what `fd` holds with `data`. Returns 0, -errno of a read, or -EBADMSG if
 * it is anything else. */
static int compare_content(int fd, const char *data, size_t size)
{
	char chunk[CHUNK_SIZE];
	size_t done = 0;
	ssize_t got;

	for (;;) {
		got = pread(fd, chunk, sizeof(chunk), (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return done == size ? 0 : -EBADMSG;
		if ((size_t)got > size - done ||
		    memcmp(chunk, data + done, (size_t)got) != 0)
			return -EBADMSG;
		done += (size_t)got;
	}
}

/* Writes the unnamed file: durable, and read back. */
static int write_unnamed(const struct store *store, const char *name, const char *data,
			 size_t size, int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error;

	fd = openat(store->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | READ_BACK,
		    OBJECT_MODE);
	if (fd < 0)
		return diag_fail(diag, errno, name,
				 "no unnamed file (O_TMPFILE) can be made in the store");
	/* Whatever the umask and the folder's default ACL made of it. */
	if (fchmod(fd, OBJECT_MODE) != 0)
		return diag_fail(diag, errno, name, "cannot be given its mode");
	error = write_all(fd, data, size);
	if (error)
		return diag_fail(diag, -error, name, "cannot be written");
	/* Final: after an error the kernel takes the pages for clean. */
	if (sync_file(fd) != 0)
		return diag_fail(diag, errno, name, "cannot be synced");
	error = compare_content(fd, data, size);
	if (error == -EBADMSG)
		return diag_fail(diag, 0, name, "does not read back as written");
	if (error)
		return diag_fail(diag, -error, name, "cannot be read back");
	*ret_fd = take_fd(&fd);
	return 0;
}

/* What has the name already: it must be the same object, and is made durable. Its
 * writer may have died before it did so. */
static int adopt_existing(const struct store *store, const char *name, const char *data,
			  size_t size, int *ret_fd, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct stat status;
	int error = open_object(store, name, STORE_OBJECT_LIMIT, READ_BACK, &fd, &status,
				diag);

	if (error)
		return error;
	error = compare_content(fd, data, size);
	if (error == -EBADMSG)
		return diag_refuse(diag, name, "has other bytes than its name says");
	if (error)
		return diag_fail(diag, -error, name, "cannot be read");
	if (sync_file(fd) != 0)
		return diag_fail(diag, errno, name, "cannot be synced");
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Gives the unnamed file its name, or finds the name taken: `*fd` is then what has
 * it. */
static int link_object(const struct store *store, const char *name, const char *data,
		       size_t size, int *fd, bool *ret_is_new, struct diag *diag)
{
	char path[sizeof("/proc/self/fd/") + 11];
	int existing = -1, error;

	/* By this path, because AT_EMPTY_PATH wants CAP_DAC_READ_SEARCH before Linux
	 * 6.10. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	if (linkat(AT_FDCWD, path, store->fd, name, AT_SYMLINK_FOLLOW) == 0) {
		*ret_is_new = true;
		return 0;
	}
	if (errno != EEXIST)
		return diag_fail(diag, errno, name, "cannot be linked into the store");
	error = adopt_existing(store, name, data, size, &existing, diag);
	if (error)
		return error;
	own_fd(fd);
	*fd = existing;
	*ret_is_new = false;
	return 0;
}

/* Whether the name leads to the very file that was synced. */
static int check_named(const struct store *store, const char *name, int synced_fd,
		       const char *data, size_t size, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	struct stat synced, status;
	int error;

	if (fstat(synced_fd, &synced) != 0)
		return diag_fail(diag, errno, name, "cannot be examined");
	error = open_object(store, name, STORE_OBJECT_LIMIT, READ_BACK, &fd, &status,
			    diag);
	if (error)
		return error;
	if (status.st_dev != synced.st_dev || status.st_ino != synced.st_ino)
		return diag_fail(diag, 0, name, "was replaced while it was stored");
	error = compare_content(fd, data, size);
	if (error)
		return diag_fail(diag, -error, name, "does not read back as stored");
	return 0;
}

int store_put(const struct store *store, const void *data, size_t size,
	      char ret_sha256[DIGEST_TEXT_SIZE], bool *ret_is_new, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	char name[DIGEST_TEXT_SIZE];
	bool is_new = false;
	int error;

	if (size == 0 || size > STORE_OBJECT_LIMIT)
		return diag_refuse(diag, NULL, "an object of %zu bytes, not 1 to %d",
				   size, STORE_OBJECT_LIMIT);
	digest_bytes(data, size, name);
	error = write_unnamed(store, name, data, size, &fd, diag);
	if (!error)
		error = link_object(store, name, data, size, &fd, &is_new, diag);
	if (error)
		return error;
	if (sync_folder(store->fd) != 0)
		return diag_fail(diag, errno, name,
				 "the store's folder cannot be synced");
	error = check_named(store, name, fd, data, size, diag);
	if (error)
		return error;
	memcpy(ret_sha256, name, sizeof(name));
	*ret_is_new = is_new;
	return 0;
}

int store_get(const struct store *store, const char *sha256, uint64_t limit,
	      struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	OWN(own_fd) int fd = -1;
	char found[DIGEST_TEXT_SIZE];
	struct stat status;
	int error;

	if (!digest_is_text(sha256))
		return diag_refuse(diag, sha256,
				   "not the name of an object, which is 64 "
				   "lower-case hexadecimal digits");
	error = open_object(store, sha256, limit, 0, &fd, &status, diag);
	if (!error)
		error = protected_read_fd(fd, limit, sha256, &bytes, diag);
	if (error)
		return error;
	digest_bytes(bytes.data, bytes.size, found);
	if (strcmp(found, sha256) != 0)
		return diag_refuse(diag, sha256, "its bytes have the digest %s", found);
	*ret_bytes = take_bytes(&bytes);
	return 0;
}

struct names {
	char **items;
	size_t count, room;
};

static void own_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

static int add_name(struct names *names, const char *name)
{
	char **grown;

	if (names->count == names->room) {
		names->room = names->room ? 2 * names->room : 64;
		grown = reallocarray(names->items, names->room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		names->items = grown;
	}
	names->items[names->count] = strdup(name);
	if (!names->items[names->count])
		return -ENOMEM;
	names->count++;
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int list_names(const struct store *store, struct names *names, struct diag *diag)
{
	OWN(own_directory) DIR *directory = NULL;
	const struct dirent *entry;
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return diag_fail(diag, errno, "store", "cannot be listed");
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return diag_fail(diag, errno, "store", "cannot be listed");
	}
	for (;;) {
		errno = 0;
		entry = readdir(directory);
		if (!entry)
			break;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (add_name(names, entry->d_name) != 0)
			return diag_no_memory(diag);
	}
	/* A listing that broke off is no listing. */
	if (errno)
		return diag_fail(diag, errno, "store", "cannot be listed whole");
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), compare_names);
	return 0;
}

int store_check(const struct store *store,
		int (*visit)(const struct store_entry *entry, void *context),
		void *context, size_t *ret_count, struct diag *diag)
{
	OWN(own_names) struct names names = {0};
	int error = list_names(store, &names, diag);

	for (size_t i = 0; i < names.count && !error; i++) {
		OWN(own_bytes) struct bytes bytes = {0};
		struct store_entry entry = {.name = names.items[i]};
		struct diag found = {0};

		if (store_get(store, entry.name, STORE_OBJECT_LIMIT, &bytes, &found) == 0)
			entry.bytes = &bytes;
		else
			entry.diag = &found;
		error = visit(&entry, context);
	}
	if (error)
		return error;
	*ret_count = names.count;
	return 0;
}
