// SPDX-License-Identifier: GPL-2.0-or-later
// What the probes aim at beside the profile's endpoints (netproof.targets.v1).
#include "policy/targets.h"

#include <string.h>

#include "common/json_table.h"
#include "common/number.h"
#include "common/protected.h"

#define PORT_MAX 65535
#define TIMEOUT_MS_MAX 120000 /* the agent's own limit (SPEC 4.1) */

static bool is_public(const char *text)
{
	uint32_t address;

	return inet_is_ipv4(text, &address) && !inet_is_special(address) &&
	       !inet_is_private(address) && !inet_is_loopback(address);
}

/* 2000::/3, the only block unicast addresses are given from (RFC 4291, 2.4). */
static bool is_public_ipv6(const char *text)
{
	struct sockaddr_storage address;
	socklen_t size;

	return strchr(text, ':') && (text[0] == '2' || text[0] == '3') &&
	       text[strcspn(text, ":")] && strcspn(text, ":") == 4 &&
	       inet_parse(text, 1, &address, &size) == 0;
}

static bool is_ipv4(const char *text)
{
	uint32_t address;

	return inet_is_ipv4(text, &address);
}

/* "name:port", as in the request line of CONNECT (RFC 9110, 9.3.6). */
static bool is_authority(const char *text)
{
	char name[TARGETS_NAME_SIZE];
	const char *colon = strchr(text, ':');
	uint64_t port;

	if (!colon || (size_t)(colon - text) >= sizeof(name))
		return false;
	memcpy(name, text, (size_t)(colon - text));
	name[colon - text] = '\0';
	return inet_is_name(name) && number_parse(colon + 1, 1, PORT_MAX, &port) == 0;
}

static const struct json_rule public_rule = {
	"a canonical IPv4 address that is not private, loopback or special", is_public};
static const struct json_rule public_ipv6_rule = {"a canonical IPv6 address in 2000::/3",
						  is_public_ipv6};
static const struct json_rule ipv4_rule = {"a canonical IPv4 address", is_ipv4};
static const struct json_rule name_rule = {"a lower-case name of two labels or more",
					   inet_is_name};
static const struct json_rule authority_rule = {
	"\"name:port\" with a lower-case name of two labels or more", is_authority};

#define ENDPOINT_FIELDS(name_, rule_)                                                    \
	static const struct json_field name_##_fields[] = {                              \
		{JSON_TEXT(struct target_endpoint, address, 1, &(rule_))},               \
		{JSON_INTEGER(struct target_endpoint, port, 1, PORT_MAX)},               \
	};                                                                               \
	static const struct json_table name_##_table =                                   \
		JSON_TABLE(struct target_endpoint, name_##_fields)

ENDPOINT_FIELDS(public, public_rule);
ENDPOINT_FIELDS(ipv6, public_ipv6_rule);
ENDPOINT_FIELDS(metadata, ipv4_rule);
ENDPOINT_FIELDS(loopback, ipv4_rule);

static const struct json_field timeout_fields[] = {
	{JSON_INTEGER(struct target_timeouts, connect_ms, 1, TIMEOUT_MS_MAX)},
	{JSON_INTEGER(struct target_timeouts, check_ms, 1, TIMEOUT_MS_MAX)},
	{JSON_INTEGER(struct target_timeouts, accept_ms, 1, TIMEOUT_MS_MAX)},
	{JSON_INTEGER(struct target_timeouts, dns_ms, 1, TIMEOUT_MS_MAX)},
	{JSON_INTEGER(struct target_timeouts, proxy_ms, 1, TIMEOUT_MS_MAX)},
};

static const struct json_table timeout_table =
	JSON_TABLE(struct target_timeouts, timeout_fields);

static const struct json_field targets_fields[] = {
	{JSON_LITERAL("schema", "netproof.targets.v1")},
	{JSON_OBJECT(struct targets, public, &public_table)},
	{JSON_OBJECT(struct targets, ipv6, &ipv6_table)},
	{JSON_OBJECT(struct targets, metadata, &metadata_table)},
	{JSON_TEXT(struct targets, dns_name, 1, &name_rule)},
	{JSON_TEXT(struct targets, proxy_authority, 1, &authority_rule)},
	{JSON_INTEGER(struct targets, docker_api_port, 1, PORT_MAX)},
	{JSON_OBJECT(struct targets, host_loopback, &loopback_table)},
	{JSON_INTEGER(struct targets, sibling_port, 1024, PORT_MAX)},
	{JSON_OBJECT(struct targets, timeouts, &timeout_table)},
};

static const struct json_table targets_table = JSON_TABLE(struct targets, targets_fields);

int targets_parse(const void *data, size_t size, const char *name,
		  struct targets *ret_targets, struct diag *diag)
{
	return json_table_parse(data, size, TARGETS_LIMIT, name, &targets_table,
				ret_targets, diag);
}

int targets_read(const char *path, uid_t owner, struct targets *ret_targets,
		 char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error =
		protected_read(path, owner, PROTECTED_FILE, TARGETS_LIMIT, &bytes, diag);

	if (!error)
		error = targets_parse(bytes.data, bytes.size, path, ret_targets, diag);
	if (error)
		return error;
	if (ret_sha256)
		digest_bytes(bytes.data, bytes.size, ret_sha256);
	return 0;
}

int targets_write(const struct targets *targets, struct bytes *ret_bytes,
		  struct diag *diag)
{
	return json_table_write(&targets_table, targets, ret_bytes, diag);
}
