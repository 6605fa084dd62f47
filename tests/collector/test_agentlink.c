// SPDX-License-Identifier: GPL-2.0-or-later
// collector/agentlink: what an agent may answer, and each way it may not.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "collector/agentlink.h"
#include "collector/formats.h"
#include "common/clock.h"

struct bench {
	struct wait wait;
	struct decoder decoder;
	struct agent_link link;
	int peer;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct diag diag = {0};
	int ends[2];

	*state = bench;
	signal(SIGPIPE, SIG_IGN);
	bench->wait = (struct wait)WAIT_INIT;
	if (decoder_start(collector_formats, FORMAT_COUNT, &bench->decoder, &diag) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	bench->peer = ends[1];
	return agentlink_open(ends[0], ends[0], "candidate", &bench->wait,
			      &bench->decoder, FORMAT_ANSWER, &bench->link, &diag);
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	agentlink_close(&bench->link);
	decoder_stop(&bench->decoder);
	close(bench->peer);
	free(bench);
	return 0;
}

static void say(struct bench *bench, const char *text)
{
	assert_int_equal(write(bench->peer, text, strlen(text)), (ssize_t)strlen(text));
}

#define CONNECTED                                                                        \
	"{\"elapsed_us\":12,\"op\":\"connect\",\"outcome\":\"connected\","               \
	"\"schema\":\"netproof.agent.v1\"}\n"
#define REFUSED                                                                          \
	"{\"elapsed_us\":7,\"errno\":\"ECONNREFUSED\",\"op\":\"connect\","               \
	"\"outcome\":\"refused\",\"schema\":\"netproof.agent.v1\"}\n"

static const struct agent_request connect_request = {
	.op = AGENT_CONNECT, .address = "192.0.2.1", .port = 443, .timeout_ms = 100};

static void answers_come_in_order(void **state)
{
	struct bench *bench = *state;
	struct diag diag = {0};
	struct agent_answer answer;
	char sent[512] = "";
	int64_t deadline = clock_boot_ms() + 5000;

	assert_int_equal(agentlink_send(&bench->link, &connect_request, &diag), 0);
	assert_int_equal(agentlink_send(&bench->link, &connect_request, &diag), 0);
	assert_true(read(bench->peer, sent, sizeof(sent) - 1) > 0);
	assert_memory_equal(sent,
			    "{\"address\":\"192.0.2.1\",\"op\":\"connect\",\"port\":443,"
			    "\"timeout_ms\":100}\n{\"address\"",
			    70);
	say(bench, REFUSED CONNECTED);
	assert_int_equal(agentlink_receive(&bench->link, deadline, &answer, &diag), 0);
	assert_int_equal(answer.outcome, OUTCOME_REFUSED);
	assert_string_equal(answer.error_name, "ECONNREFUSED");
	assert_int_equal(agentlink_receive(&bench->link, deadline, &answer, &diag), 0);
	assert_int_equal(answer.outcome, OUTCOME_CONNECTED);
	assert_int_equal(answer.elapsed_us, 12);
	assert_int_equal(agentlink_check_idle(&bench->link, &diag), 0);
}

struct lie {
	const char *says; /* NULL: closes */
	const char *refusal;
};

static const struct lie lies[] = {
	{NULL, "ended in the middle"},
	{"garbage\n", "answer: "},
	{"{}\n", "missing"},
	{"{\"op\":\"dns\",\"outcome\":\"connected\",\"schema\":\"netproof.agent.v1\"}\n",
	 "out of order"},
	{"{\"op\":\"connect\",\"outcome\":\"accepted\",\"schema\":\"netproof.agent.v1\"}"
	 "\n",
	 "cannot end as accepted"},
	{"{\"op\":\"connect\",\"schema\":\"netproof.agent.v1\"}\n", "without an outcome"},
	{"{\"op\":\"connect\",\"outcome\":\"connected\",\"schema\":\"netproof.agent.v2\"}"
	 "\n",
	 "schema"},
	{"{\"error\":\"no\",\"op\":\"connect\",\"schema\":\"netproof.agent.v1\"}\n",
	 "refused the request"},
	{"{\"op\":\"connect\",\"op\":\"connect\",\"outcome\":\"connected\","
	 "\"schema\":\"netproof.agent.v1\"}\n",
	 "op"},
	{"{\"op\":\"connect\",\"outcome\":\"connected\",\"pid\":1.5,"
	 "\"schema\":\"netproof.agent.v1\"}\n",
	 "not written as an integer"},
	{"{\"extra\":1,\"op\":\"connect\",\"outcome\":\"connected\","
	 "\"schema\":\"netproof.agent.v1\"}\n",
	 "unknown key"},
	{"", "gave no answer in time"},
};

static void every_lie_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct diag diag = {0}, again = {0};
		struct agent_answer answer;
		struct bench *bench;
		void *own_state;

		assert_int_equal(set_up(&own_state), 0);
		bench = own_state;
		assert_int_equal(agentlink_send(&bench->link, &connect_request, &diag),
				 0);
		if (lies[i].says)
			say(bench, lies[i].says);
		else
			shutdown(bench->peer, SHUT_RDWR);
		assert_true(agentlink_receive(&bench->link, clock_boot_ms() + 300,
					      &answer, &diag) < 0);
		assert_int_equal(diag.kind, DIAG_REFUSED);
		assert_string_equal(diag.place, "candidate agent");
		if (!strstr(diag.text, lies[i].refusal))
			fail_msg("lie %zu: '%s'", i, diag.text);
		/* The session is over, with the same words. */
		assert_true(agentlink_send(&bench->link, &connect_request, &again) < 0);
		assert_string_equal(again.text, diag.text);
		tear_down(&own_state);
	}
}

static void a_line_has_an_end(void **state)
{
	struct bench *bench = *state;
	char flood[AGENT_LINE_MAX + 1];
	struct agent_answer answer;
	struct diag diag = {0};

	memset(flood, 'x', sizeof(flood) - 1);
	flood[sizeof(flood) - 1] = '\0';
	assert_int_equal(agentlink_send(&bench->link, &connect_request, &diag), 0);
	say(bench, flood);
	assert_true(agentlink_receive(&bench->link, clock_boot_ms() + 5000, &answer,
				      &diag) < 0);
	assert_non_null(strstr(diag.text, "a line of more than"));
}

static void unasked_bytes_are_refused(void **state)
{
	struct bench *bench = *state;
	struct diag diag = {0};

	say(bench, CONNECTED);
	assert_true(agentlink_check_idle(&bench->link, &diag) < 0);
	assert_non_null(strstr(diag.text, "nobody asked for"));
}

static void a_decoders_struct_is_checked(void **state)
{
	struct agent_answer answer = {.has_op = true, .op = AGENT_CONNECT};

	(void)state;
	assert_true(decoder_check(&agent_answer_table, &answer));
	answer.op = 99;
	assert_false(decoder_check(&agent_answer_table, &answer));
	answer.op = AGENT_DNS;
	answer.has_connection = true;
	memset(answer.connection, 'c', sizeof(answer.connection));
	assert_false(decoder_check(&agent_answer_table, &answer));
	strcpy(answer.connection, "c1");
	assert_true(decoder_check(&agent_answer_table, &answer));
	*(unsigned char *)&answer.has_uid = 7;
	assert_false(decoder_check(&agent_answer_table, &answer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_come_in_order, set_up, tear_down),
		cmocka_unit_test(every_lie_is_named),
		cmocka_unit_test_setup_teardown(a_line_has_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unasked_bytes_are_refused, set_up,
						tear_down),
		cmocka_unit_test(a_decoders_struct_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
