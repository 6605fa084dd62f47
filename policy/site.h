/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site: the names and addresses on this host (netproof.site.v1). */
#ifndef POLICY_SITE_H
#define POLICY_SITE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/digest.h"
#include "common/inet.h"
#include "common/json_table.h"
#include "common/own.h"

#define SITE_LIMIT 65536     /* bytes of a site file */
#define SITE_NAME_SIZE 65    /* with the NUL, as everywhere below */
#define SITE_ACCOUNT_SIZE 32 /* LOGIN_NAME_MAX of shadow: 31 letters */
#define SITE_UNIT_SIZE 128
#define SITE_TABLE_SIZE 32 /* nft itself takes 255; ours fits any listing */
#define SITE_PATH_SIZE 256
#define SITE_SOCKET_SIZE 108 /* sizeof(sun_path) */
#define SITE_LABEL_SIZE 65
#define SITE_FOREIGN_MAX 32

enum site_engine_kind { SITE_ENGINE_DOCKER };

enum site_router_namespace {
	SITE_ROUTER_HOST,           /* the worker listens on a host address */
	SITE_ROUTER_ROOTLESS_NETNS, /* on the candidate bridge's gateway */
};

/* `address` is a private IPv4 literal, `port` 1024 to 65535. */
struct site_endpoint {
	char address[INET_TEXT_SIZE];
	int64_t port;
};

struct site_engine {
	int kind;                           /* enum site_engine_kind */
	char socket[SITE_SOCKET_SIZE];      /* the rootless engine's API socket */
	char client_config[SITE_PATH_SIZE]; /* an empty directory, for its CLI */
};

/* Units carry their suffix: "netproof-worker.service". */
struct site {
	char name[SITE_NAME_SIZE];
	char workload_user[SITE_ACCOUNT_SIZE];
	char worker_unit[SITE_UNIT_SIZE]; /* a system service, in system.slice */
	char guard_unit[SITE_UNIT_SIZE];  /* loads the guard at boot */
	char proxy_unit[SITE_UNIT_SIZE];  /* runs net-proxy */
	char engine_unit[SITE_UNIT_SIZE]; /* of the workload user's manager */
	char table[SITE_TABLE_SIZE];      /* the inet table's name */
	struct site_engine engine;
	char runtime_dir[SITE_PATH_SIZE]; /* made by the worker unit, below /run */
	char install_dir[SITE_PATH_SIZE]; /* where the programs are */
	char profile[SITE_PATH_SIZE];     /* the installed profile */
	struct site_endpoint router;
	struct site_endpoint proxy;
	int router_namespace; /* enum site_router_namespace */
	int64_t candidate_uid;
	int64_t executor_uid;
	char run_label[SITE_LABEL_SIZE]; /* key of the label on our containers */
	/* Kernel-form digests of foreign tables that the operator accepts. */
	char foreign_accepted[SITE_FOREIGN_MAX][DIGEST_TEXT_SIZE];
	size_t foreign_accepted_count;
};

extern const struct json_table site_table;

/* Decodes a site file's bytes; `name` is what messages call it. A refusal
 * names the key. `*ret_site` changes only on success. */
int site_parse(const void *data, size_t size, const char *name, struct site *ret_site,
	       struct diag *diag);

/* Reads a protected site file (owner: root or `owner`). `ret_sha256`, the
 * digest of the file's bytes, may be NULL. */
int site_read(const char *path, uid_t owner, struct site *ret_site,
	      char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* The cgroups, as paths below the cgroup root without a leading slash: the
 * worker's "system.slice/UNIT" (level 2) and the user manager's
 * "user.slice/user-UID.slice/user@UID.service" (level 3). `ret_path` has
 * SITE_CGROUP_SIZE bytes. */
#define SITE_CGROUP_SIZE 192
void site_worker_cgroup(const struct site *site, char ret_path[SITE_CGROUP_SIZE]);
void site_daemon_cgroup(uid_t uid, char ret_path[SITE_CGROUP_SIZE]);

#endif
