// SPDX-License-Identifier: GPL-2.0-or-later
// Requests: one line of JSON to a plain struct.
#include "agent/request.h"

#include <string.h>

#include "common/number.h"

const char *const request_op_names[REQUEST_OP_COUNT + 1] = {
	[REQUEST_HELLO] = "hello",
	[REQUEST_CONNECT] = "connect",
	[REQUEST_HANDSHAKE] = "handshake",
	[REQUEST_ESTABLISH] = "establish",
	[REQUEST_CHECK] = "check",
	[REQUEST_LISTEN] = "listen",
	[REQUEST_ADOPT] = "adopt",
	[REQUEST_ACCEPT] = "accept",
	[REQUEST_PROXY_FORWARD] = "proxy_forward",
	[REQUEST_DNS] = "dns",
	[REQUEST_EXIT] = "exit",
	[REQUEST_OP_COUNT] = NULL,
};

/* The end of year 9999: far beyond any profile, and no sum with it overflows. */
#define EXPIRY_MAX 253402300799

static bool is_handle(const char *text, char kind)
{
	uint64_t number;

	return text[0] == kind &&
	       number_parse(text + 1, 1, HANDLE_NUMBER_MAX, &number) == 0;
}

static bool is_connection(const char *text)
{
	return is_handle(text, 'c');
}

static bool is_listener(const char *text)
{
	return is_handle(text, 'l');
}

/* "name:port": what an HTTP CONNECT names (RFC 9110, 9.3.6). */
static bool is_authority(const char *text)
{
	const char *colon = strchr(text, ':');
	char name[REQUEST_TARGET_SIZE];
	uint64_t port;

	if (!colon || (size_t)(colon - text) >= sizeof(name))
		return false;
	memcpy(name, text, (size_t)(colon - text));
	name[colon - text] = '\0';
	return inet_is_name(name) && number_parse(colon + 1, 1, 65535, &port) == 0;
}

static const struct json_rule rule_connection = {"a connection handle", is_connection};
static const struct json_rule rule_listener = {"a listener handle", is_listener};
static const struct json_rule rule_authority = {
	"a lower-case name of two labels or more, ':' and a port", is_authority};
static const struct json_rule rule_name = {"a lower-case name of two labels or more",
					   inet_is_name};

#define OP(name)                                                                         \
	{                                                                                \
		JSON_LITERAL("op", name)                                                 \
	}
#define ADDRESS                                                                          \
	{                                                                                \
		JSON_TEXT(struct request, address, 1, &json_rule_address)                \
	}
#define PORT                                                                             \
	{                                                                                \
		JSON_INTEGER(struct request, port, 1, 65535)                             \
	}
#define TIMEOUT                                                                          \
	{                                                                                \
		JSON_INTEGER(struct request, timeout_ms, REQUEST_TIMEOUT_MIN_MS,         \
			     REQUEST_TIMEOUT_MAX_MS)                                     \
	}

static const struct json_field hello_fields[] = {OP("hello")};
static const struct json_field connect_fields[] = {OP("connect"), ADDRESS, PORT, TIMEOUT};
static const struct json_field handshake_fields[] = {OP("handshake"), ADDRESS, PORT,
						     TIMEOUT};
static const struct json_field establish_fields[] = {OP("establish"), ADDRESS, PORT,
						     TIMEOUT};
static const struct json_field check_fields[] = {
	OP("check"),
	{JSON_TEXT(struct request, connection, 1, &rule_connection)},
	TIMEOUT,
};
static const struct json_field listen_fields[] = {
	OP("listen"),
	{JSON_TEXT(struct request, address, 1, &json_rule_ipv4)},
	PORT,
};
static const struct json_field adopt_fields[] = {
	OP("adopt"),
	{JSON_INTEGER(struct request, expires_at_unix, 1, EXPIRY_MAX)},
};
static const struct json_field accept_fields[] = {
	OP("accept"),
	{JSON_TEXT(struct request, listener, 1, &rule_listener)},
	TIMEOUT,
};
static const struct json_field proxy_forward_fields[] = {
	OP("proxy_forward"),
	ADDRESS,
	PORT,
	{JSON_TEXT(struct request, target, 1, &rule_authority)},
	TIMEOUT,
};
static const struct json_field dns_fields[] = {
	OP("dns"),
	{JSON_TEXT(struct request, target, 1, &rule_name)},
	TIMEOUT,
};
static const struct json_field exit_fields[] = {OP("exit")};

static const struct json_table tables[REQUEST_OP_COUNT] = {
	[REQUEST_HELLO] = JSON_TABLE(struct request, hello_fields),
	[REQUEST_CONNECT] = JSON_TABLE(struct request, connect_fields),
	[REQUEST_HANDSHAKE] = JSON_TABLE(struct request, handshake_fields),
	[REQUEST_ESTABLISH] = JSON_TABLE(struct request, establish_fields),
	[REQUEST_CHECK] = JSON_TABLE(struct request, check_fields),
	[REQUEST_LISTEN] = JSON_TABLE(struct request, listen_fields),
	[REQUEST_ADOPT] = JSON_TABLE(struct request, adopt_fields),
	[REQUEST_ACCEPT] = JSON_TABLE(struct request, accept_fields),
	[REQUEST_PROXY_FORWARD] = JSON_TABLE(struct request, proxy_forward_fields),
	[REQUEST_DNS] = JSON_TABLE(struct request, dns_fields),
	[REQUEST_EXIT] = JSON_TABLE(struct request, exit_fields),
};

static int decode_op(const struct json_at *at, enum request_op *ret_op, struct diag *diag)
{
	struct json_at place = {at, "op", 0, json_object_get(at->value, "op")};
	const char *text = json_string_value(place.value);

	if (!place.value)
		return json_refuse(&place, diag, "missing");
	for (int op = 0; text && op < REQUEST_OP_COUNT; op++) {
		if (strcmp(text, request_op_names[op]) != 0)
			continue;
		*ret_op = (enum request_op)op;
		return 0;
	}
	return json_refuse(&place, diag, "not an op of this agent");
}

static int decode(const struct json_at *at, enum request_op op,
		  struct request *ret_request, struct diag *diag)
{
	struct request request;
	int error = json_table_decode(at, &tables[op], &request, diag);

	if (error)
		return error;
	request.op = op;
	*ret_request = request;
	return 0;
}

int request_decode(const char *line, size_t size, struct request *ret_request,
		   enum request_op *ret_op, struct diag *diag)
{
	OWN(own_json) json_t *root = NULL;
	struct json_at at = {NULL, "request", 0, NULL};
	int error;

	*ret_op = REQUEST_OP_COUNT;
	error = json_parse(line, size, REQUEST_LINE_MAX, "request", &root, diag);
	if (error)
		return error;
	at.value = root;
	error = decode_op(&at, ret_op, diag);
	return error ? error : decode(&at, *ret_op, ret_request, diag);
}

int request_decode_planned(const struct json_at *at, struct request *ret_request,
			   struct diag *diag)
{
	enum request_op op;
	int error;

	if (!json_is_object(at->value))
		return json_refuse(at, diag, "not an object");
	error = decode_op(at, &op, diag);
	if (error)
		return error;
	if (op != REQUEST_CONNECT && op != REQUEST_HANDSHAKE)
		return json_refuse(at, diag,
				   "%s: a plan holds connect and handshake alone",
				   request_op_names[op]);
	return decode(at, op, ret_request, diag);
}
