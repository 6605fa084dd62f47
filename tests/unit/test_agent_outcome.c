// SPDX-License-Identifier: GPL-2.0-or-later
// agent/outcome and agent/answer: every errno there is has the outcome SPEC 4.2 gives
// it, and answers say so in their form.
#include "tests/unit/unit.h"

#include <sys/socket.h>

#include "agent/answer.h"
#include "common/canonical.h"

#define ERRNO_END 200 /* above asm-generic/errno.h's last */

static enum outcome specified(int error, bool is_ipv6)
{
	static const struct {
		enum outcome outcome;
		int errors[8];
	} rows[] = {
		{OUTCOME_REFUSED, {ECONNREFUSED}},
		{OUTCOME_RESET, {ECONNRESET, EPIPE, ECONNABORTED}},
		{OUTCOME_NOT_PERMITTED, {EPERM, EACCES}},
		{OUTCOME_UNREACHABLE,
		 {ENETUNREACH, EHOSTUNREACH, EAFNOSUPPORT, ENETDOWN, EHOSTDOWN}},
		{OUTCOME_TIMEOUT, {ETIMEDOUT}},
	};

	if (error == EADDRNOTAVAIL && is_ipv6)
		return OUTCOME_UNREACHABLE;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (const int *listed = rows[i].errors; *listed; listed++)
			if (*listed == error)
				return rows[i].outcome;
	return OUTCOME_PROBE_ERROR;
}

static void every_errno(void **state)
{
	(void)state;
	for (int error = 1; error < ERRNO_END; error++) {
		assert_int_equal(outcome_from_errno(error, AF_INET),
				 specified(error, false));
		assert_int_equal(outcome_from_errno(error, AF_INET6),
				 specified(error, true));
	}
}

static void assert_written(const struct answer *answer, const char *wanted)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	assert_int_equal(json_table_write(&answer_table, answer, &bytes, &diag), 0);
	assert_string_equal(bytes.data, wanted);
}

static void answers_in_their_form(void **state)
{
	struct answer answer = {.op = REQUEST_CONNECT, .has_op = true};

	(void)state;
	answer_set_outcome(&answer, OUTCOME_CONNECTED, 0);
	assert_written(&answer, "{\"op\":\"connect\",\"outcome\":\"connected\","
				"\"schema\":\"netproof.agent.v1\"}");
	answer_set_outcome(&answer, OUTCOME_UNREACHABLE, EHOSTUNREACH);
	answer.elapsed_us = 12;
	answer.has_elapsed = true;
	assert_written(&answer, "{\"elapsed_us\":12,\"errno\":\"EHOSTUNREACH\","
				"\"op\":\"connect\",\"outcome\":\"unreachable\","
				"\"schema\":\"netproof.agent.v1\"}");
	answer_set_outcome(&answer, OUTCOME_PROBE_ERROR, 4095);
	assert_string_equal(answer.errno_name, "errno 4095");
	answer = (struct answer){.has_error = true, .error = "request: op: missing"};
	assert_written(&answer, "{\"error\":\"request: op: missing\","
				"\"schema\":\"netproof.agent.v1\"}");
}

static void longest_answer_fits_its_line(void **state)
{
	struct answer answer = {.op = REQUEST_PROXY_FORWARD,
				.has_op = true,
				.has_connection = true,
				.has_listener = true,
				.has_remote_address = true,
				.has_identity = true,
				.has_elapsed = true,
				.has_error = true,
				.elapsed_us = JSON_MAX_INTEGER,
				.identity = {UINT32_MAX, UINT32_MAX, UINT32_MAX, ""}};
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	answer_set_outcome(&answer, OUTCOME_HANDSHAKE_COMPLETED, EPROTONOSUPPORT);
	memset(answer.connection, 'c', sizeof(answer.connection) - 1);
	memset(answer.listener, 'l', sizeof(answer.listener) - 1);
	memset(answer.remote_address, 'f', sizeof(answer.remote_address) - 1);
	memset(answer.identity.probe_runner_sha256, 'a', DIGEST_TEXT_SIZE - 1);
	memset(answer.error, '"', sizeof(answer.error) - 1);
	assert_int_equal(json_table_write(&answer_table, &answer, &bytes, &diag), 0);
	assert_true(bytes.size + 1 <= ANSWER_LINE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_errno),
		cmocka_unit_test(answers_in_their_form),
		cmocka_unit_test(longest_answer_fits_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
