// SPDX-License-Identifier: GPL-2.0-or-later
// Naming an endpoint without its address: SPEC 8's keyed digest.
#include "policy/endpoint_digest.h"

#include <stdio.h>
#include <string.h>

#include "common/inet.h"
#include "common/json_table.h"

const char *const endpoint_role_names[] = {
	[ENDPOINT_ROLE_TRUSTED_TCP] = "trusted_tcp",
	[ENDPOINT_ROLE_TRUSTED_DNS] = "trusted_dns",
	[ENDPOINT_ROLE_ROUTER] = "router",
	[ENDPOINT_ROLE_PROXY] = "proxy",
	[ENDPOINT_ROLE_COUNT] = NULL,
};

struct named_endpoint {
	char address[INET_TEXT_SIZE];
	int64_t port;
	int role;
};

static const struct json_field fields[] = {
	{JSON_TEXT(struct named_endpoint, address, 1, &json_rule_address)},
	{JSON_INTEGER(struct named_endpoint, port, 1, 65535)},
	{JSON_CHOICE(struct named_endpoint, role, endpoint_role_names)},
};

static const struct json_table table = JSON_TABLE(struct named_endpoint, fields);

int endpoint_digest(const char *label_key, const char *address, int64_t port,
		    enum endpoint_role role, char ret_sha256[DIGEST_TEXT_SIZE],
		    struct diag *diag)
{
	struct named_endpoint endpoint = {.port = port, .role = (int)role};
	OWN(own_bytes) struct bytes bytes = {0};
	uint8_t key[DIGEST_SIZE];
	int error = digest_parse_text(label_key, key);

	if (error)
		return diag_refuse(diag, "label_key",
				   "not 64 lower-case hexadecimal digits");
	if (snprintf(endpoint.address, sizeof(endpoint.address), "%s", address) >=
	    (int)sizeof(endpoint.address))
		return diag_refuse(diag, "address", "longer than any address");
	error = json_table_write(&table, &endpoint, &bytes, diag);
	if (!error)
		digest_hmac(key, bytes.data, bytes.size, ret_sha256);
	explicit_bzero(key, sizeof(key));
	return error;
}
