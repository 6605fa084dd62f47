/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The preflight: a host as a read-only look found it (netproof.preflight.v4). */
#ifndef POLICY_PREFLIGHT_H
#define POLICY_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/own.h"
#include "policy/host.h"
#include "policy/release.h"

#define PREFLIGHT_LIMIT 65536
#define DAEMON_TEXT_SIZE 128
#define DAEMON_PATH_SIZE 256
#define DAEMON_OPTIONS_MAX 16
#define UNIT_NAME_SIZE 256
#define UNIT_STATE_SIZE 32

/* The engine, by what it says of itself. `cgroup_driver` is "systemd" and
 * `cgroup_version` "2" in every one that is accepted. */
struct daemon_identity {
	char id[DAEMON_TEXT_SIZE];
	char version[DAEMON_TEXT_SIZE];
	char root_dir[DAEMON_PATH_SIZE];
	char storage_driver[DAEMON_TEXT_SIZE];
	char cgroup_driver[DAEMON_TEXT_SIZE];
	char cgroup_version[DAEMON_TEXT_SIZE];
	char default_runtime[DAEMON_TEXT_SIZE];
	char security_options[DAEMON_OPTIONS_MAX][DAEMON_TEXT_SIZE];
	size_t security_option_count;
	char socket[DAEMON_PATH_SIZE];
};

extern const struct json_table daemon_identity_table;

/* Refuses an engine that is not rootless, whose cgroup driver is not systemd's or
 * version not 2, or whose security options are not sorted and distinct. `name`
 * is the place. */
int daemon_identity_check(const struct daemon_identity *daemon, const char *name,
			  struct diag *diag);

/* Whether containers are under a system call filter of the engine's. */
bool daemon_identity_has_seccomp(const struct daemon_identity *daemon);

/* Sorts the security options and drops none: an engine gives them in no order. */
void daemon_identity_sort(struct daemon_identity *daemon);

/* Digest of the identity as a value. */
int daemon_identity_digest(const struct daemon_identity *daemon,
			   char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* A unit as systemd showed it. `unit_sha256` is the digest of its effective
 * properties and drop-ins (the collector's unit digest). */
struct unit_state {
	char name[UNIT_NAME_SIZE];
	char active_state[UNIT_STATE_SIZE]; /* "active" */
	char sub_state[UNIT_STATE_SIZE];    /* "exited" */
	char unit_sha256[DIGEST_TEXT_SIZE];
};

extern const struct json_table unit_state_table;

struct preflight_units {
	struct unit_state worker, guard, proxy, engine;
};

struct preflight {
	struct host host;
	char site_sha256[DIGEST_TEXT_SIZE];
	char release_sha256[DIGEST_TEXT_SIZE];
	/* As installed: the same as the release's, or there is no preflight. */
	struct release_programs programs;
	char catalog_sha256[DIGEST_TEXT_SIZE];
	char targets_sha256[DIGEST_TEXT_SIZE];
	char candidate_image_id[RELEASE_IMAGE_SIZE];
	struct daemon_identity daemon;
	char daemon_sha256[DIGEST_TEXT_SIZE];
	struct preflight_units units;
	int64_t containers;   /* counted, and 0 */
	int64_t job_networks; /* the same */
	char nft_ruleset_semantic_sha256[DIGEST_TEXT_SIZE];
	char guard_kernel_sha256[DIGEST_TEXT_SIZE];
	char nft_foreign_sha256[DIGEST_TEXT_SIZE];
	int64_t checked_at_unix;
};

/* Decodes a kept preflight: canonical bytes, the daemon's digest that of the
 * daemon, everything as daemon_identity_check() wants it. Another version is
 * refused as unknown. `name` is for messages. */
int preflight_parse(const void *data, size_t size, const char *name,
		    struct preflight *ret_preflight, struct diag *diag);

/* The bytes to keep. What preflight_parse() would refuse is refused here. */
int preflight_write(const struct preflight *preflight, struct bytes *ret_bytes,
		    struct diag *diag);

#endif
