/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The release: which programs and documents belong together
 * (netproof.release.v1). */
#ifndef POLICY_RELEASE_H
#define POLICY_RELEASE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/digest.h"
#include "common/own.h"

#define RELEASE_LIMIT 65536
#define RELEASE_VERSION_SIZE 32
#define RELEASE_REVISION_SIZE 65
#define RELEASE_REFERENCE_SIZE 128
#define RELEASE_IMAGE_SIZE 72 /* "sha256:" and 64 digits, with the NUL */

/* The programs of SPEC 2, in the order of their names. */
enum release_program {
	RELEASE_NET_COLLECTOR,
	RELEASE_NET_POLICY,
	RELEASE_NET_PREFLIGHT,
	RELEASE_NET_PROBE, /* the probe runner */
	RELEASE_NET_PROXY,
	RELEASE_NET_SITE,
	RELEASE_NET_VERIFY,
	RELEASE_PROGRAM_COUNT,
};

extern const char *const release_program_names[];

struct release_programs {
	char sha256[RELEASE_PROGRAM_COUNT][DIGEST_TEXT_SIZE];
};

/* The image that candidate, sibling and executor run in. */
struct release_image {
	char reference[RELEASE_REFERENCE_SIZE];
	char id[RELEASE_IMAGE_SIZE]; /* "sha256:…": the engine's id of its config */
};

struct release {
	char version[RELEASE_VERSION_SIZE];
	char source_revision[RELEASE_REVISION_SIZE]; /* a git commit */
	struct release_programs programs;
	char catalog_sha256[DIGEST_TEXT_SIZE];
	char targets_sha256[DIGEST_TEXT_SIZE];
	struct release_image candidate_image;
};

/* Decodes a release file: canonical JSON. `name` is for messages. */
int release_parse(const void *data, size_t size, const char *name,
		  struct release *ret_release, struct diag *diag);

/* Reads a protected release file (owner: root or `owner`). `ret_sha256`, the
 * digest of the file's bytes, may be NULL. */
int release_read(const char *path, uid_t owner, struct release *ret_release,
		 char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

int release_write(const struct release *release, struct bytes *ret_bytes,
		  struct diag *diag);

#endif
