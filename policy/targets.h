/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probes aim at beside the profile's endpoints (netproof.targets.v1). */
#ifndef POLICY_TARGETS_H
#define POLICY_TARGETS_H

#include <stdint.h>
#include <sys/types.h>

#include "common/digest.h"
#include "common/inet.h"
#include "common/own.h"

#define TARGETS_LIMIT 65536
#define TARGETS_NAME_SIZE 254      /* RFC 1035: 253 bytes and a NUL */
#define TARGETS_AUTHORITY_SIZE 260 /* a name, ":" and a port */

struct target_endpoint {
	char address[INET_TEXT_SIZE];
	int64_t port;
};

/* In milliseconds, 1 to 120000 (SPEC 4.1). */
struct target_timeouts {
	int64_t connect_ms; /* connect, handshake, establish */
	int64_t check_ms;   /* of an idle flow */
	int64_t accept_ms;
	int64_t dns_ms;
	int64_t proxy_ms;
};

struct targets {
	struct target_endpoint public;
	struct target_endpoint ipv6;
	struct target_endpoint metadata;              /* the clouds' metadata service */
	char dns_name[TARGETS_NAME_SIZE];             /* the question */
	char proxy_authority[TARGETS_AUTHORITY_SIZE]; /* what CONNECT asks for */
	int64_t docker_api_port;
	struct target_endpoint host_loopback; /* slirp4netns' alias of 127.0.0.1 */
	int64_t sibling_port;
	struct target_timeouts timeouts;
};

/* Decodes a targets file's bytes. `name` is for messages. */
int targets_parse(const void *data, size_t size, const char *name,
		  struct targets *ret_targets, struct diag *diag);

/* Reads a protected targets file (owner: root or `owner`). `ret_sha256`, the
 * digest of the file's bytes, may be NULL. */
int targets_read(const char *path, uid_t owner, struct targets *ret_targets,
		 char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* The canonical bytes. */
int targets_write(const struct targets *targets, struct bytes *ret_bytes,
		  struct diag *diag);

#endif
