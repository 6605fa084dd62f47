/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests: one line of JSON to a plain struct. */
#ifndef AGENT_REQUEST_H
#define AGENT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/diag.h"
#include "common/inet.h"
#include "common/json_table.h"

#define REQUEST_LINE_MAX 4096 /* bytes, the newline not counted */
#define REQUEST_TIMEOUT_MIN_MS 1
#define REQUEST_TIMEOUT_MAX_MS 120000
#define REQUEST_TARGET_SIZE 260 /* a name of 253, ':' and a port, and a NUL */

/* A handle: 'c' for a connection or 'l' for a listener, and a number. */
#define HANDLE_NUMBER_MAX 65536
#define HANDLE_TEXT_SIZE 8

/* In the order of request_op_names. */
enum request_op {
	REQUEST_HELLO,
	REQUEST_CONNECT,
	REQUEST_HANDSHAKE,
	REQUEST_ESTABLISH,
	REQUEST_CHECK,
	REQUEST_LISTEN,
	REQUEST_ADOPT,
	REQUEST_ACCEPT,
	REQUEST_PROXY_FORWARD,
	REQUEST_DNS,
	REQUEST_EXIT,
	REQUEST_OP_COUNT, /* also: none that is known */
};

/* Ends with NULL, for JSON_CHOICE. */
extern const char *const request_op_names[REQUEST_OP_COUNT + 1];

/* What an op does not take is zero. */
struct request {
	enum request_op op;
	char address[INET_TEXT_SIZE];
	int64_t port;
	int64_t timeout_ms;
	int64_t expires_at_unix;
	char connection[HANDLE_TEXT_SIZE];
	char listener[HANDLE_TEXT_SIZE];
	char target[REQUEST_TARGET_SIZE];
};

/* Decodes one line, without its newline, under the rules of SPEC 3 and the closed
 * key set of its op. `*ret_op` is always set: the op as far as it could be told.
 * `*ret_request` changes only on success. */
int request_decode(const char *line, size_t size, struct request *ret_request,
		   enum request_op *ret_op, struct diag *diag);

/* The same for a value inside a document, which must be one of the ops a plan may
 * hold: connect or handshake. */
int request_decode_planned(const struct json_at *at, struct request *ret_request,
			   struct diag *diag);

#endif
