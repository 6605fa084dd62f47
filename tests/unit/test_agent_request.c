// SPDX-License-Identifier: GPL-2.0-or-later
// agent/request: each op's fields, and only those; the op is told as far as known.
#include "tests/unit/unit.h"

#include "agent/request.h"

static int decode(const char *line, struct request *request, enum request_op *op,
		  struct diag *diag)
{
	return request_decode(line, strlen(line), request, op, diag);
}

static void each_op(void **state)
{
	static const struct {
		const char *line;
		struct request request;
	} rows[] = {
		{"{\"op\":\"hello\"}", {.op = REQUEST_HELLO}},
		{"{\"op\":\"exit\"}", {.op = REQUEST_EXIT}},
		{"{\"op\":\"connect\",\"address\":\"::1\",\"port\":1,\"timeout_ms\":1}",
		 {.op = REQUEST_CONNECT, .address = "::1", .port = 1, .timeout_ms = 1}},
		{"{\"op\":\"handshake\",\"address\":\"192.0.2.1\",\"port\":65535,"
		 "\"timeout_ms\":120000}",
		 {.op = REQUEST_HANDSHAKE,
		  .address = "192.0.2.1",
		  .port = 65535,
		  .timeout_ms = 120000}},
		{"{\"timeout_ms\":7,\"port\":2,\"address\":\"::\",\"op\":\"establish\"}",
		 {.op = REQUEST_ESTABLISH, .address = "::", .port = 2, .timeout_ms = 7}},
		{"{\"op\":\"check\",\"connection\":\"c65536\",\"timeout_ms\":9}",
		 {.op = REQUEST_CHECK, .connection = "c65536", .timeout_ms = 9}},
		{"{\"op\":\"listen\",\"address\":\"0.0.0.0\",\"port\":8}",
		 {.op = REQUEST_LISTEN, .address = "0.0.0.0", .port = 8}},
		{"{\"op\":\"adopt\",\"expires_at_unix\":1800000000}",
		 {.op = REQUEST_ADOPT, .expires_at_unix = 1800000000}},
		{"{\"op\":\"accept\",\"listener\":\"l2\",\"timeout_ms\":3}",
		 {.op = REQUEST_ACCEPT, .listener = "l2", .timeout_ms = 3}},
		{"{\"op\":\"proxy_forward\",\"address\":\"::1\",\"port\":4,"
		 "\"target\":\"a.b:65535\",\"timeout_ms\":5}",
		 {.op = REQUEST_PROXY_FORWARD,
		  .address = "::1",
		  .port = 4,
		  .target = "a.b:65535",
		  .timeout_ms = 5}},
		{"{\"op\":\"dns\",\"target\":\"a.b\",\"timeout_ms\":6}",
		 {.op = REQUEST_DNS, .target = "a.b", .timeout_ms = 6}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request request;
		enum request_op op;
		struct diag diag = {0};

		assert_int_equal(decode(rows[i].line, &request, &op, &diag), 0);
		assert_int_equal(op, rows[i].request.op);
		assert_memory_equal(&request, &rows[i].request, sizeof(request));
	}
	/* A row for every op. */
	assert_int_equal(ARRAY_SIZE(rows), REQUEST_OP_COUNT);
}

static void refused(const char *line, enum request_op op, const char *wanted)
{
	struct request request, untouched;
	enum request_op found;
	struct diag diag = {0};

	memset(&request, 0x11, sizeof(request));
	memset(&untouched, 0x11, sizeof(untouched));
	assert_int_equal(decode(line, &request, &found, &diag), -EINVAL);
	assert_refused(diag, wanted);
	assert_int_equal(found, op);
	assert_memory_equal(&request, &untouched, sizeof(request));
}

static void refusals_know_the_op_and_change_nothing(void **state)
{
	(void)state;
	refused("{}", REQUEST_OP_COUNT, "request: op: missing");
	refused("{\"op\":\"nop\"}", REQUEST_OP_COUNT,
		"request: op: not an op of this agent");
	refused("{\"op\":[]}", REQUEST_OP_COUNT, "request: op: not an op of this agent");
	refused("{\"op\":\"hello\",\"port\":1}", REQUEST_HELLO,
		"request: port: unknown key");
	refused("{\"op\":\"dns\",\"timeout_ms\":1}", REQUEST_DNS,
		"request: target: missing");
	refused("{\"op\":\"accept\",\"listener\":\"c1\",\"timeout_ms\":1}",
		REQUEST_ACCEPT, "request: listener: not a listener handle");
}

static void name_of(char *name, size_t labels, size_t last)
{
	*name = '\0';
	for (size_t i = 0; i < labels; i++)
		sprintf(name + strlen(name), "%063d.", 7);
	sprintf(name + strlen(name), "%0*dx", (int)last - 1, 0);
}

static void longest_targets(void **state)
{
	char name[300], line[600];
	struct request request;
	enum request_op op;
	struct diag diag = {0};

	(void)state;
	name_of(name, 3, 61);
	assert_int_equal(strlen(name), 253);
	snprintf(line, sizeof(line),
		 "{\"op\":\"dns\",\"target\":\"%s\",\"timeout_ms\":1}", name);
	assert_int_equal(decode(line, &request, &op, &diag), 0);
	assert_string_equal(request.target, name);
	snprintf(line, sizeof(line),
		 "{\"op\":\"proxy_forward\",\"address\":\"::1\",\"port\":1,"
		 "\"target\":\"%s:65535\",\"timeout_ms\":1}",
		 name);
	assert_int_equal(decode(line, &request, &op, &diag), 0);
	assert_int_equal(strlen(request.target), 259);
	name_of(name, 3, 62);
	snprintf(line, sizeof(line),
		 "{\"op\":\"dns\",\"target\":\"%s\",\"timeout_ms\":1}", name);
	assert_int_equal(decode(line, &request, &op, &diag), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_op),
		cmocka_unit_test(refusals_know_the_op_and_change_nothing),
		cmocka_unit_test(longest_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
