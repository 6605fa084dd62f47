// SPDX-License-Identifier: GPL-2.0-or-later
// The catalog: every probe of a collection, in order (SPEC 7.3).
#include "policy/catalog.h"

#include <string.h>

#include "common/canonical.h"
#include "common/json_table.h"

const char *const phase_names[] = {
	[PHASE_ACTIVE] = "active", [PHASE_STOP_ROLLBACK] = "stop_rollback",
	[PHASE_EXPIRY] = "expiry", [PHASE_FAILED_START] = "failed_start",
	[PHASE_COUNT] = NULL,
};

const char *const position_names[] = {
	[POSITION_CONTROL] = "control",
	[POSITION_WORKER] = "worker",
	[POSITION_DAEMON] = "daemon",
	[POSITION_DAEMON_SUBORDINATE] = "daemon_subordinate",
	[POSITION_CANDIDATE] = "candidate",
	[POSITION_SIBLING] = "sibling",
	[POSITION_EXECUTOR] = "executor",
	[POSITION_COUNT] = NULL,
};

const char *const catalog_op_names[] = {
	[CATALOG_OP_CONNECT] = "connect",
	[CATALOG_OP_HANDSHAKE] = "handshake",
	[CATALOG_OP_CHECK] = "check",
	[CATALOG_OP_SOURCE] = "source",
	[CATALOG_OP_PROXY_FORWARD] = "proxy_forward",
	[CATALOG_OP_DNS] = "dns",
	[CATALOG_OP_HELLO] = "hello",
	[CATALOG_OP_INSPECT] = "inspect",
	[CATALOG_OP_COUNT] = NULL,
};

const char *const catalog_target_names[] = {
	[CATALOG_TARGET_SELF] = "self",
	[CATALOG_TARGET_TRUSTED_TCP] = "trusted_tcp",
	[CATALOG_TARGET_ROUTER] = "router",
	[CATALOG_TARGET_PROXY] = "proxy",
	[CATALOG_TARGET_PUBLIC] = "public",
	[CATALOG_TARGET_IPV6] = "ipv6",
	[CATALOG_TARGET_METADATA] = "metadata",
	[CATALOG_TARGET_DNS] = "dns",
	[CATALOG_TARGET_HOST_LOOPBACK] = "host_loopback",
	[CATALOG_TARGET_SIBLING] = "sibling",
	[CATALOG_TARGET_DOCKER_API] = "docker_api",
	[CATALOG_TARGET_COUNT] = NULL,
};

const char *const catalog_expect_names[] = {
	[EXPECT_CONNECTED] = "connected",
	[EXPECT_HANDSHAKE_COMPLETED] = "handshake_completed",
	[EXPECT_PROXY_REFUSED] = "proxy_refused",
	[EXPECT_CONTAINER_ADDRESS] = "container_address",
	[EXPECT_IDENTITY_EXACT] = "identity_exact",
	[EXPECT_ONLY_LOOPBACK] = "only_loopback",
	[EXPECT_DENIED] = "denied",
	[EXPECT_CUT] = "cut",
	[CATALOG_EXPECT_DNS_GRANT] = "dns_grant",
	NULL,
};

/* What can make a probe conclusive. */
#define BY(...)                                                                          \
	.bases = {__VA_ARGS__}, .base_count = sizeof((int[]){__VA_ARGS__}) / sizeof(int)
#define BY_OUTCOME BY(BASIS_OUTCOME)
#define BY_CONTROL BY(BASIS_CONTROL, BASIS_DENY_COUNTER)
#define BY_CONTROL_OR_NO_ROUTE BY(BASIS_CONTROL, BASIS_DENY_COUNTER, BASIS_NO_ROUTE)
#define BY_LISTENER BY(BASIS_LISTENER)
#define BY_ROUTER BY(BASIS_DENY_COUNTER, BASIS_LISTENER, BASIS_LISTENER_GONE)

#define PROBE(id_, phase_, position_, op_, target_, expect_, ...)                        \
	{                                                                                \
		.id = (id_), .phase = PHASE_##phase_, .position = POSITION_##position_,  \
		.op = CATALOG_OP_##op_, .target = CATALOG_TARGET_##target_,              \
		.expect = (expect_), __VA_ARGS__                                         \
	}
#define EACH .per_endpoint = true

/* clang-format off */
static const struct catalog builtin = {
	.probes = {
		PROBE("candidate.router.connect", ACTIVE, CANDIDATE, CONNECT, ROUTER,
		      EXPECT_CONNECTED, BY_OUTCOME),
		PROBE("candidate.router.source", ACTIVE, CANDIDATE, SOURCE, ROUTER,
		      EXPECT_CONTAINER_ADDRESS, BY_OUTCOME),
		PROBE("candidate.proxy.connect", ACTIVE, CANDIDATE, CONNECT, PROXY,
		      EXPECT_CONNECTED, BY_OUTCOME),
		PROBE("candidate.proxy.forward", ACTIVE, CANDIDATE, PROXY_FORWARD, PROXY,
		      EXPECT_PROXY_REFUSED, BY(BASIS_REFUSAL)),
		PROBE("candidate.dns", ACTIVE, CANDIDATE, DNS, DNS,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("candidate.metadata", ACTIVE, CANDIDATE, CONNECT, METADATA,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("candidate.public", ACTIVE, CANDIDATE, CONNECT, PUBLIC,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("candidate.ipv6", ACTIVE, CANDIDATE, CONNECT, IPV6,
		      EXPECT_DENIED, BY_CONTROL_OR_NO_ROUTE),
		PROBE("candidate.host_loopback", ACTIVE, CANDIDATE, CONNECT, HOST_LOOPBACK,
		      EXPECT_DENIED, BY_LISTENER),
		PROBE("candidate.sibling_attempt", ACTIVE, CANDIDATE, CONNECT, SIBLING,
		      EXPECT_DENIED, BY_LISTENER),
		PROBE("candidate.docker_api", ACTIVE, CANDIDATE, CONNECT, DOCKER_API,
		      EXPECT_DENIED, BY_ROUTER),
		PROBE("candidate.trusted", ACTIVE, CANDIDATE, CONNECT, TRUSTED_TCP,
		      EXPECT_DENIED, BY_CONTROL, EACH),
		PROBE("candidate.identity", ACTIVE, CANDIDATE, HELLO, SELF,
		      EXPECT_IDENTITY_EXACT, BY_OUTCOME),
		PROBE("candidate.host_ids", ACTIVE, CANDIDATE, INSPECT, SELF,
		      EXPECT_IDENTITY_EXACT, BY_OUTCOME),
		PROBE("executor.interfaces", ACTIVE, EXECUTOR, INSPECT, SELF,
		      EXPECT_ONLY_LOOPBACK, BY_OUTCOME),
		PROBE("worker.trusted.handshake", ACTIVE, WORKER, HANDSHAKE, TRUSTED_TCP,
		      EXPECT_HANDSHAKE_COMPLETED, BY_OUTCOME, EACH),
		PROBE("worker.public", ACTIVE, WORKER, CONNECT, PUBLIC,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("worker.ipv6", ACTIVE, WORKER, CONNECT, IPV6,
		      EXPECT_DENIED, BY_CONTROL_OR_NO_ROUTE),
		PROBE("worker.metadata", ACTIVE, WORKER, CONNECT, METADATA,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("worker.dns", ACTIVE, WORKER, DNS, DNS,
		      CATALOG_EXPECT_DNS_GRANT,
		      BY(BASIS_OUTCOME, BASIS_CONTROL, BASIS_DENY_COUNTER)),
		PROBE("daemon.trusted", ACTIVE, DAEMON, CONNECT, TRUSTED_TCP,
		      EXPECT_DENIED, BY_CONTROL, EACH),
		PROBE("daemon.public", ACTIVE, DAEMON, CONNECT, PUBLIC,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("daemon.ipv6", ACTIVE, DAEMON, CONNECT, IPV6,
		      EXPECT_DENIED, BY_CONTROL_OR_NO_ROUTE),
		PROBE("daemon.metadata", ACTIVE, DAEMON, CONNECT, METADATA,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("daemon.dns", ACTIVE, DAEMON, DNS, DNS,
		      EXPECT_DENIED, BY_CONTROL),
		PROBE("daemon.subordinate", ACTIVE, DAEMON_SUBORDINATE, CONNECT, PUBLIC,
		      EXPECT_DENIED, BY_CONTROL),

		PROBE("worker.trusted.after_stop", STOP_ROLLBACK, WORKER, CONNECT,
		      TRUSTED_TCP, EXPECT_DENIED, BY_CONTROL, EACH),
		PROBE("candidate.router.after_stop", STOP_ROLLBACK, CANDIDATE, CONNECT,
		      ROUTER, EXPECT_DENIED, BY_ROUTER),
		PROBE("daemon.public.after_stop", STOP_ROLLBACK, DAEMON, CONNECT, PUBLIC,
		      EXPECT_DENIED, BY_CONTROL),

		PROBE("worker.trusted.established_after_expiry", EXPIRY, WORKER, CHECK,
		      TRUSTED_TCP, EXPECT_CUT, BY_CONTROL, EACH),
		PROBE("worker.trusted.new_after_expiry", EXPIRY, WORKER, CONNECT,
		      TRUSTED_TCP, EXPECT_DENIED, BY_CONTROL, EACH),
		PROBE("candidate.router.established_after_expiry", EXPIRY, CANDIDATE, CHECK,
		      ROUTER, EXPECT_CUT, BY_ROUTER),
		PROBE("candidate.router.new_after_expiry", EXPIRY, CANDIDATE, CONNECT,
		      ROUTER, EXPECT_DENIED, BY_ROUTER),
		PROBE("daemon.public.after_expiry", EXPIRY, DAEMON, CONNECT, PUBLIC,
		      EXPECT_DENIED, BY_CONTROL),

		PROBE("worker.trusted.after_failed_start", FAILED_START, WORKER, CONNECT,
		      TRUSTED_TCP, EXPECT_DENIED, BY_CONTROL, EACH),
	},
	.probe_count = 35,
};
/* clang-format on */

static bool is_probe_id(const char *text)
{
	return text[0] >= 'a' && text[0] <= 'z' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == '\0';
}

const struct json_rule catalog_id_rule = {
	"a probe's name of lower-case letters, digits, '_' and '.'", is_probe_id};

static const struct json_field base_item = {JSON_ITEM_CHOICE(basis_names)};

static const struct json_field probe_fields[] = {
	{JSON_TEXT(struct catalog_probe, id, 1, &catalog_id_rule)},
	{JSON_CHOICE(struct catalog_probe, phase, phase_names)},
	{JSON_CHOICE(struct catalog_probe, position, position_names)},
	{JSON_CHOICE(struct catalog_probe, op, catalog_op_names)},
	{JSON_CHOICE(struct catalog_probe, target, catalog_target_names)},
	{JSON_CHOICE(struct catalog_probe, expect, catalog_expect_names)},
	{JSON_BOOLEAN(struct catalog_probe, per_endpoint)},
	{JSON_ARRAY(struct catalog_probe, bases, base_count, &base_item, 1)},
};

static const struct json_table probe_table =
	JSON_TABLE(struct catalog_probe, probe_fields);

static const struct json_field probe_item = {
	JSON_ITEM_OBJECT(struct catalog_probe, &probe_table)};

static const struct json_field catalog_fields[] = {
	{JSON_LITERAL("schema", "netproof.catalog.v1")},
	{JSON_ARRAY(struct catalog, probes, probe_count, &probe_item, 1)},
};

static const struct json_table catalog_table = JSON_TABLE(struct catalog, catalog_fields);

const struct catalog *catalog_builtin(void)
{
	return &builtin;
}

int catalog_builtin_digest(char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = catalog_write(&builtin, &bytes, diag);

	if (error)
		return error;
	digest_bytes(bytes.data, bytes.size, ret_sha256);
	return 0;
}

int catalog_parse(const void *data, size_t size, const char *name,
		  struct catalog *ret_catalog, struct diag *diag)
{
	OWN(own_pointer) struct catalog *catalog = calloc(1, sizeof(*catalog));
	int error;

	if (!catalog)
		return diag_no_memory(diag);
	error = json_table_parse_kept(data, size, CATALOG_LIMIT, name, &catalog_table,
				      catalog, diag);
	for (size_t i = 0; i < catalog->probe_count && !error; i++)
		if (catalog_find(catalog, catalog->probes[i].id) != &catalog->probes[i])
			error = diag_refuse(diag, name, "probes[%zu].id: %s is twice", i,
					    catalog->probes[i].id);
	if (error)
		return error;
	*ret_catalog = *catalog;
	return 0;
}

int catalog_write(const struct catalog *catalog, struct bytes *ret_bytes,
		  struct diag *diag)
{
	return json_table_write(&catalog_table, catalog, ret_bytes, diag);
}

const struct catalog_probe *catalog_find(const struct catalog *catalog, const char *id)
{
	for (size_t i = 0; i < catalog->probe_count; i++)
		if (strcmp(catalog->probes[i].id, id) == 0)
			return &catalog->probes[i];
	return NULL;
}

enum expectation catalog_expectation(const struct catalog_probe *probe,
				     bool is_dns_granted)
{
	if (probe->expect == CATALOG_EXPECT_DNS_GRANT)
		return is_dns_granted ? EXPECT_CONNECTED : EXPECT_DENIED;
	return (enum expectation)probe->expect;
}

unsigned int catalog_bases(const struct catalog_probe *probe)
{
	unsigned int bases = 1U << BASIS_OUTCOME;

	for (size_t i = 0; i < probe->base_count; i++)
		bases |= 1U << probe->bases[i];
	return bases;
}

bool catalog_has_endpoint(const struct catalog_probe *probe)
{
	return probe->target == CATALOG_TARGET_TRUSTED_TCP ||
	       probe->target == CATALOG_TARGET_ROUTER ||
	       probe->target == CATALOG_TARGET_PROXY;
}
