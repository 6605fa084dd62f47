// SPDX-License-Identifier: GPL-2.0-or-later
// agent/dns and agent/status_line: the bytes that are not JSON.
#include "tests/unit/unit.h"

#include <arpa/inet.h>

#include "agent/dns.h"
#include "agent/status_line.h"

static void question_on_the_wire(void **state)
{
	static const uint8_t wanted[] = "\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
					"\x03www\x07"
					"example\x03"
					"com\x00\x00\x01\x00\x01";
	struct dns_question question;

	(void)state;
	dns_question_write("www.example.com", 0xabcd, &question);
	assert_int_equal(question.size, sizeof(wanted) - 1);
	assert_memory_equal(question.bytes, wanted, question.size);
}

static void every_response_code(void **state)
{
	struct dns_question question;
	uint8_t answer[DNS_QUESTION_MAX];

	(void)state;
	dns_question_write("a.example", 1, &question);
	memcpy(answer, question.bytes, question.size);
	for (unsigned int code = 0; code < 16; code++) {
		enum dns_verdict wanted = DNS_OTHER;

		if (code == 0 || code == 3)
			wanted = DNS_REACHED;
		else if (code == 2 || code == 5)
			wanted = DNS_REFUSED;
		answer[2] = 0x81;
		answer[3] = (uint8_t)code;
		assert_int_equal(dns_answer_judge(&question, answer, question.size),
				 wanted);
		answer[2] = 0x83; /* truncated */
		assert_int_equal(dns_answer_judge(&question, answer, question.size),
				 wanted);
		answer[2] = 0x01; /* a question */
		assert_int_equal(dns_answer_judge(&question, answer, question.size),
				 DNS_STRAY);
	}
}

/* No single bit of what must match may differ: all but case, flags and counts. */
static void every_bit_of_the_question_counts(void **state)
{
	struct dns_question question;
	uint8_t answer[DNS_QUESTION_MAX];

	(void)state;
	dns_question_write("a1.example", 0x5555, &question);
	memcpy(answer, question.bytes, question.size);
	answer[2] |= 0x80;
	for (size_t i = 0; i < question.size; i++) {
		bool is_free = i == 2 || i == 3 || (i >= 6 && i < DNS_HEADER_SIZE);

		for (int bit = 0; bit < 8 && !is_free; bit++) {
			uint8_t before = answer[i];
			bool is_case = i >= DNS_HEADER_SIZE && bit == 5 &&
				       before >= 'a' && before <= 'z';

			answer[i] ^= (uint8_t)(1 << bit);
			assert_int_equal(
				dns_answer_judge(&question, answer, question.size),
				is_case ? DNS_REACHED : DNS_STRAY);
			answer[i] = before;
		}
	}
	for (size_t size = 0; size < question.size; size++)
		assert_int_equal(dns_answer_judge(&question, answer, size), DNS_STRAY);
}

static void resolver_lines(void **state)
{
	static const struct {
		const char *text, *found;
	} rows[] = {
		{"nameserver 192.0.2.1", "192.0.2.1"},
		{"nameserver\t\t192.0.2.1  \n", "192.0.2.1"},
		{"nameserver 192.0.2.1\r\n", "192.0.2.1"},
		{"nameserver ::1\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n",
		 "192.0.2.1"},
		{"search a.example\n\n# nameserver 192.0.2.9\n;x\nnameserver 192.0.2.1 #",
		 "192.0.2.1"},
		{"", NULL},
		{"nameserver", NULL},
		{"nameserver ", NULL},
		{"nameserver192.0.2.1", NULL},
		{" nameserver 192.0.2.1", NULL},
		{"nameserver 192.0.2.01", NULL},
		{"nameserver 192.0.2.1x", NULL},
		{"nameserver 192.0.2.1192.0.2.1", NULL},
		{"nameserver 0x7f.1", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in_addr address = {0};
		int error =
			dns_resolver_find(rows[i].text, strlen(rows[i].text), &address);

		assert_int_equal(error, rows[i].found ? 0 : -ENOENT);
		if (rows[i].found)
			assert_string_equal(inet_ntoa(address), rows[i].found);
	}
}

static enum status_line_verdict judge(const char *text)
{
	struct status_line line = {.size = strlen(text)};

	memcpy(line.text, text, line.size);
	return status_line_judge(&line);
}

static void every_status(void **state)
{
	(void)state;
	for (int status = 0; status < 1000; status++) {
		char text[64];
		enum status_line_verdict wanted = STATUS_LINE_OTHER;

		if (status >= 200 && status <= 299)
			wanted = STATUS_LINE_FORWARDED;
		else if (status == 403 || status == 405 || status == 407)
			wanted = STATUS_LINE_REFUSED;
		snprintf(text, sizeof(text), "HTTP/1.1 %03d Reason\r\n", status);
		assert_int_equal(judge(text), wanted);
		text[strlen(text) - 1] = '\0';
		assert_int_equal(judge(text), STATUS_LINE_PARTIAL);
	}
}

static void full_line_without_end(void **state)
{
	struct status_line line = {.size = STATUS_LINE_MAX};

	(void)state;
	memset(line.text, 'x', sizeof(line.text));
	memcpy(line.text, "HTTP/1.1 200 ", 13);
	assert_int_equal(status_line_judge(&line), STATUS_LINE_OTHER);
	line.text[STATUS_LINE_MAX - 1] = '\n';
	assert_int_equal(status_line_judge(&line), STATUS_LINE_FORWARDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_on_the_wire),
		cmocka_unit_test(every_response_code),
		cmocka_unit_test(every_bit_of_the_question_counts),
		cmocka_unit_test(resolver_lines),
		cmocka_unit_test(every_status),
		cmocka_unit_test(full_line_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
