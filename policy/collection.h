/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector's configuration (netproof.collection.v1). */
#ifndef POLICY_COLLECTION_H
#define POLICY_COLLECTION_H

#include <sys/types.h>

#include "common/digest.h"
#include "common/own.h"
#include "policy/host.h"

#define COLLECTION_LIMIT 65536
#define COLLECTION_PATH_SIZE 256

/* What the operator asks to be collected, and on which host: the last four bind
 * it to one machine, one boot and one preflight. */
struct collection {
	char site[COLLECTION_PATH_SIZE];
	char release[COLLECTION_PATH_SIZE];
	char release_sha256[DIGEST_TEXT_SIZE];
	char profile[COLLECTION_PATH_SIZE];
	char store[COLLECTION_PATH_SIZE];
	char machine_id_sha256[DIGEST_TEXT_SIZE];
	char boot_id[HOST_BOOT_ID_SIZE];
	char pre_collection_preflight_sha256[DIGEST_TEXT_SIZE];
};

/* Decodes a configuration's bytes. `name` is for messages. */
int collection_parse(const void *data, size_t size, const char *name,
		     struct collection *ret_collection, struct diag *diag);

/* Reads a protected file (owner: root or `owner`). `ret_sha256`, the digest of
 * the file's bytes, may be NULL. */
int collection_read(const char *path, uid_t owner, struct collection *ret_collection,
		    char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* The canonical bytes. */
int collection_write(const struct collection *collection, struct bytes *ret_bytes,
		     struct diag *diag);

#endif
