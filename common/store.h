/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store: a private folder of objects named by their SHA-256. */
#ifndef COMMON_STORE_H
#define COMMON_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/diag.h"
#include "common/digest.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * An object is put once and never changes: its name is the digest of its bytes, its
 * mode 0400, its owner the folder's. store_put() returns 0 only when the object,
 * under its name, survives a power cut from then on:
 *
 *	unnamed file (O_TMPFILE, 0400) -> write -> fsync -> read back and compare ->
 *	linkat() under the name -> fsync the folder -> open by name, compare inode
 *	and bytes
 *
 * A crash before the link leaves nothing, one after it the whole object: its
 * bytes were durable before it had a name. If the name is taken, what is there is
 * read under the rules of store_get(), must be the same bytes, and is synced with
 * the folder before it is acknowledged: whoever put it may have died in between.
 * An fsync that fails is final, because the kernel forgets the pages it could not
 * write. There is no fall-back to rename(), which can replace.
 *
 * store_get() trusts nothing that lies in the folder: it is opened without
 * following links and without blocking, and its type, links, owner, mode and size
 * are judged on the descriptor before its bytes are hashed.
 */

/* More than any object has; what is larger is refused unread. */
#define STORE_OBJECT_LIMIT 1048576

struct store {
	int fd;      /* the folder; -1: not open */
	uid_t owner; /* its owner, and every object's */
};

/* Opens the store at `path`: clean and absolute, every ancestor owned by root or
 * `owner` and not writable by others, the folder private. */
int store_open(const char *path, uid_t owner, struct store *ret_store, struct diag *diag);

void store_close(struct store *store);

/* Cleanup for a local: "OWN(own_store) struct store store = STORE_CLOSED;". */
#define STORE_CLOSED                                                                     \
	{                                                                                \
		.fd = -1                                                                 \
	}
static inline void own_store(struct store *store)
{
	store_close(store);
}

/* Keeps `size` bytes (1 to STORE_OBJECT_LIMIT). On success the object is durable,
 * `ret_sha256` its name, and `*ret_is_new` says whether this call made it.
 * Anything else is "could not tell", except an object of that name that is not
 * what it must be: refused, by name. */
int store_put(const struct store *store, const void *data, size_t size,
	      char ret_sha256[DIGEST_TEXT_SIZE], bool *ret_is_new, struct diag *diag);

/* Reads the object `sha256`, at most `limit` bytes, with a NUL after the end. One
 * that is absent, or not as it must be, is refused by name. */
int store_get(const struct store *store, const char *sha256, uint64_t limit,
	      struct bytes *ret_bytes, struct diag *diag);

/* What store_check() found of one entry. */
struct store_entry {
	const char *name;          /* as it is in the folder: any bytes */
	const struct bytes *bytes; /* of a sound object; else NULL */
	const struct diag *diag;   /* of any other: why */
};

/* Examines every entry of the folder, in the order of their names, and calls
 * `visit` once for each; its value other than 0 ends the check and is returned.
 * Nothing is ever repaired. A folder that cannot be listed whole is "could not
 * tell". `*ret_count` is the number of entries. */
int store_check(const struct store *store,
		int (*visit)(const struct store_entry *entry, void *context),
		void *context, size_t *ret_count, struct diag *diag);

#endif
