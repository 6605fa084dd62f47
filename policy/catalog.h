/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalog: every probe of a collection, in order (SPEC 7.3). */
#ifndef POLICY_CATALOG_H
#define POLICY_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/digest.h"
#include "common/json_table.h"
#include "common/own.h"
#include "policy/verdict.h"

/*
 * Theory of operation
 *
 * The catalog is compiled into the collector and the verifier: neither can be
 * given another one. fixtures/catalog.json is the same, byte for byte, for
 * people and for other readers (a unit test compares, and `make release` takes
 * its digest); its digest is in the release and in every record.
 */

#define CATALOG_LIMIT 65536
#define CATALOG_ID_SIZE 56
#define CATALOG_PROBES_MAX 64

enum phase_name {
	PHASE_ACTIVE,
	PHASE_STOP_ROLLBACK,
	PHASE_EXPIRY,
	PHASE_FAILED_START,
	PHASE_COUNT,
};

/* Where an agent runs. `daemon_subordinate` is the daemon's position under the
 * first subordinate uid, in the host's network namespace. */
enum position {
	POSITION_CONTROL,
	POSITION_WORKER,
	POSITION_DAEMON,
	POSITION_DAEMON_SUBORDINATE,
	POSITION_CANDIDATE,
	POSITION_SIBLING,
	POSITION_EXECUTOR,
	POSITION_COUNT,
};

enum catalog_op {
	CATALOG_OP_CONNECT,
	CATALOG_OP_HANDSHAKE,
	CATALOG_OP_CHECK,  /* of a flow established before */
	CATALOG_OP_SOURCE, /* the address that the listener saw */
	CATALOG_OP_PROXY_FORWARD,
	CATALOG_OP_DNS,
	CATALOG_OP_HELLO,   /* ids as seen inside */
	CATALOG_OP_INSPECT, /* read from outside, by the collector */
	CATALOG_OP_COUNT,
};

enum catalog_target {
	CATALOG_TARGET_SELF,
	CATALOG_TARGET_TRUSTED_TCP,
	CATALOG_TARGET_ROUTER,
	CATALOG_TARGET_PROXY,
	CATALOG_TARGET_PUBLIC,
	CATALOG_TARGET_IPV6,
	CATALOG_TARGET_METADATA,
	CATALOG_TARGET_DNS,
	CATALOG_TARGET_HOST_LOOPBACK,
	CATALOG_TARGET_SIBLING,
	CATALOG_TARGET_DOCKER_API, /* the router's address, the engine's API port */
	CATALOG_TARGET_COUNT,
};

/* enum expectation, and one more that a record never has. */
#define CATALOG_EXPECT_DNS_GRANT EXPECT_COUNT /* connected if DNS is granted */

extern const char *const phase_names[];
extern const char *const position_names[];
extern const char *const catalog_op_names[];
extern const char *const catalog_target_names[];
extern const char *const catalog_expect_names[];

struct catalog_probe {
	char id[CATALOG_ID_SIZE];
	int phase;         /* enum phase_name */
	int position;      /* enum position */
	int op;            /* enum catalog_op */
	int target;        /* enum catalog_target */
	int expect;        /* enum expectation, or CATALOG_EXPECT_DNS_GRANT */
	bool per_endpoint; /* once per trusted_tcp endpoint, in the profile's order */
	int bases[BASIS_COUNT]; /* enum basis: those that can make it conclusive */
	size_t base_count;
};

struct catalog {
	struct catalog_probe probes[CATALOG_PROBES_MAX];
	size_t probe_count;
};

/* What a probe's id looks like. */
extern const struct json_rule catalog_id_rule;

/* The one in this program. */
const struct catalog *catalog_builtin(void);

/* The digest of the built-in catalog's file. */
int catalog_builtin_digest(char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag);

/* Decodes a catalog file: canonical JSON. `name` is for messages. */
int catalog_parse(const void *data, size_t size, const char *name,
		  struct catalog *ret_catalog, struct diag *diag);
int catalog_write(const struct catalog *catalog, struct bytes *ret_bytes,
		  struct diag *diag);

/* The probe of that id; NULL if there is none. */
const struct catalog_probe *catalog_find(const struct catalog *catalog, const char *id);

/* What a record must say it expected of `probe`. */
enum expectation catalog_expectation(const struct catalog_probe *probe,
				     bool is_dns_granted);

/* The allowed bases as bits (1 << enum basis), for verdict_basis(). BASIS_OUTCOME is
 * always among them: whatever a probe expects, a leak speaks for itself. */
unsigned int catalog_bases(const struct catalog_probe *probe);

/* Whether a record's probe carries `endpoint_sha256`: its target is an endpoint
 * with one of the roles of policy/endpoint_digest.h. */
bool catalog_has_endpoint(const struct catalog_probe *probe);

#endif
