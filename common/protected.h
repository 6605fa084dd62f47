/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files nobody else can have changed: protected and private paths. */
#ifndef COMMON_PROTECTED_H
#define COMMON_PROTECTED_H

#include <stdint.h>
#include <sys/types.h>

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * A path is walked from "/" one component at a time, each opened below the
 * descriptor of the one before with openat2(RESOLVE_NO_SYMLINKS) and judged by
 * fstat(): nothing is decided from a name, so nothing can be swapped between
 * the check and the use. What the caller gets is the descriptor that was judged.
 */

enum protected_flags {
	PROTECTED_FILE = 0,
	PROTECTED_PRIVATE = 1 << 0,    /* no access for group and others */
	PROTECTED_EXECUTABLE = 1 << 1, /* and executable by its owner */
};

/* Opens a protected regular file for reading: `path` clean and absolute, no
 * symlink in it, every ancestor and the file owned by root or by `owner` and
 * not writable by group or others, one link, at most `limit` bytes. A sticky
 * ancestor (/tmp) is writable by others, and so refused. Every deviation is a
 * refusal that names the component, a file that is not there included; failing
 * I/O is "could not tell". The caller owns `*ret_fd` (close-on-exec). */
int protected_open(const char *path, uid_t owner, unsigned int flags, uint64_t limit,
		   int *ret_fd, struct diag *diag);

/* protected_open() and its whole content, with a NUL after the end. */
int protected_read(const char *path, uid_t owner, unsigned int flags, uint64_t limit,
		   struct bytes *ret_bytes, struct diag *diag);

/* The same rules for a directory: O_PATH is not used, so `*ret_fd` serves for
 * *at() calls and fsync(). */
int protected_open_directory(const char *path, uid_t owner, unsigned int flags,
			     int *ret_fd, struct diag *diag);

/* Reads `fd` from its offset to its end, at most `limit` bytes (more: refused),
 * with a NUL after the end. `place` names it. */
int protected_read_fd(int fd, uint64_t limit, const char *place, struct bytes *ret_bytes,
		      struct diag *diag);

#endif
