/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The container engine, driven by its CLI as the workload user. */
#ifndef COLLECTOR_ENGINE_H
#define COLLECTOR_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/decoder.h"
#include "collector/lines.h"
#include "common/diag.h"
#include "common/inet.h"
#include "policy/preflight.h"
#include "policy/release.h"
#include "policy/site.h"

/*
 * Theory of operation
 *
 * Every call is one run of /usr/bin/docker as the workload user, without a
 * capability, through the site's socket and with the site's empty client
 * configuration; no variable of the caller's environment reaches it. Answers are
 * asked for by templates of ours that print JSON with a closed set of keys, and
 * are decoded by the decoder process. Success with an empty answer happens, and
 * is "could not tell".
 */

#define ENGINE_CLIENT "/usr/bin/docker"
#define ENGINE_ID_SIZE 65
#define ENGINE_NAME_SIZE LINES_NAME_SIZE
#define ENGINE_MOUNTS_MAX 8
#define ENGINE_NETWORKS_MAX 4

struct engine {
	const struct site *site;
	struct decoder *decoder;
	uid_t uid;
	gid_t gid;
	char host[SITE_SOCKET_SIZE + 8]; /* "unix://…" */
	char runtime_variable[64];       /* XDG_RUNTIME_DIR=… of the user's manager */
	char bus_variable[96];
};

struct engine_info {
	struct daemon_identity identity;
	int64_t containers;
	bool has_memory_limit, has_pids_limit; /* it can bound containers */
};

struct engine_mount {
	char type[32], source[256], destination[256];
	bool is_writable;
};

struct engine_attachment {
	char network[ENGINE_NAME_SIZE];
	char address[INET_TEXT_SIZE], gateway[INET_TEXT_SIZE]; /* "" without */
};

/* A container as the engine describes it. */
struct engine_container {
	char id[ENGINE_ID_SIZE];
	char image[RELEASE_IMAGE_SIZE];
	char user[64], network_mode[ENGINE_NAME_SIZE], ipc_mode[32], pid_mode[32],
		userns_mode[32], runtime[64];
	int64_t pid, restart_count, pids_limit, memory;
	int64_t cap_add, cap_drop, tmpfs, binds;
	bool is_running, is_read_only, is_privileged, has_init;
	bool has_devices, has_ports; /* asked for in any of their ways */
	char security[4][64];
	size_t security_count;
	struct engine_mount mounts[ENGINE_MOUNTS_MAX];
	size_t mount_count;
	struct engine_attachment networks[ENGINE_NETWORKS_MAX];
	size_t network_count;
};

/* What to run. */
struct engine_run {
	char name[ENGINE_NAME_SIZE];
	char network[ENGINE_NAME_SIZE]; /* "none" for none */
	const char *label;              /* "key=value" */
	const char *image;              /* its id */
	const char *runner;             /* path on the host */
	uid_t uid;                      /* inside */
	const char *socket;             /* the agent's, inside its private tmpfs */
};

extern const struct json_table engine_info_table;
extern const struct json_table engine_container_table;

int engine_open(const struct site *site, uid_t uid, gid_t gid, struct decoder *decoder,
		struct engine *ret_engine, struct diag *diag);

/* Its identity, security options sorted, and checked (rootless, systemd, v2);
 * and how many containers there are, running or not. */
int engine_info(struct engine *engine, struct engine_info *ret_info, struct diag *diag);

/* The image's id; an image that is not there is a refusal. */
int engine_image_id(struct engine *engine, const char *reference,
		    char ret_id[RELEASE_IMAGE_SIZE], struct diag *diag);

/* Networks beside the engine's own three, and containers. */
int engine_list_networks(struct engine *engine, struct lines_names *ret_list,
			 struct diag *diag);
int engine_list_containers(struct engine *engine, struct lines_names *ret_list,
			   struct diag *diag);

/* Makes a bridge network; `gateway` (its /24) may be NULL. */
int engine_create_network(struct engine *engine, const char *name, const char *label,
			  const char *gateway, struct diag *diag);
int engine_remove_network(struct engine *engine, const char *name, struct diag *diag);

/* Starts containers, at once; each is running when this returns 0. */
int engine_run(struct engine *engine, const struct engine_run *run, struct diag *diag);
int engine_inspect(struct engine *engine, const char *name,
		   struct engine_container *ret_container, struct diag *diag);
/* Removes it with its processes; one that is not there is fine. */
int engine_remove(struct engine *engine, const char *name, struct diag *diag);

/* The process that answers the engine's socket, by SO_PEERCRED. */
int engine_pid(struct engine *engine, pid_t *ret_pid, struct diag *diag);

/* Runs a program as the workload user, with its manager's variables. */
int engine_run_as_user(struct engine *engine, const char *path,
		       const char *const *arguments, int timeout_ms,
		       struct bytes *ret_output, struct diag *diag);

/* Runs systemd-run as engine_run_as_user() would. A unit that does not start is a
 * refusal: with Type=exec that is also one whose process has ended before its manager
 * looked, and one that ended just after is refused, too. */
int engine_start_user_unit(struct engine *engine, const char *const *arguments,
			   int timeout_ms, struct diag *diag);

#endif
