// SPDX-License-Identifier: GPL-2.0-or-later
// DNS answers, resolv.conf and a proxy's status line: the three texts of strangers
// that are not JSON. The first byte chooses which.
#include <assert.h>
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dns.h"
#include "agent/status_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_answer(const uint8_t *data, size_t size)
{
	struct dns_question question;
	enum dns_verdict verdict;

	dns_question_write("www.example.com", 0x1234, &question);
	verdict = dns_answer_judge(&question, data, size);
	/* Only what repeats the question can be its answer. */
	if (verdict != DNS_STRAY) {
		assert(size >= question.size && data[0] == 0x12 && data[1] == 0x34);
		assert((data[2] & 0x80) && data[question.size - 1] == 1);
	}
	if (verdict == DNS_REACHED)
		assert((data[3] & 15) == 0 || (data[3] & 15) == 3);
}

static void fuzz_resolver(const uint8_t *data, size_t size)
{
	struct in_addr address = {0};
	char text[INET_ADDRSTRLEN];

	if (dns_resolver_find((const char *)data, size, &address) != 0)
		return;
	/* What was found stands there, in this very form. */
	assert(inet_ntop(AF_INET, &address, text, sizeof(text)));
	assert(memmem(data, size, text, strlen(text)));
}

static void fuzz_status_line(const uint8_t *data, size_t size)
{
	struct status_line line = {.size = size < STATUS_LINE_MAX ? size
								  : STATUS_LINE_MAX};
	enum status_line_verdict verdict;

	memcpy(line.text, data, line.size);
	verdict = status_line_judge(&line);
	if (verdict == STATUS_LINE_PARTIAL)
		assert(size < STATUS_LINE_MAX && !memchr(data, '\n', size));
	if (verdict == STATUS_LINE_FORWARDED)
		assert(memcmp(data, "HTTP/1.", 7) == 0 && data[9] == '2');
	if (verdict == STATUS_LINE_REFUSED)
		assert(memcmp(data, "HTTP/1.", 7) == 0 && data[9] == '4');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size == 0)
		return 0;
	/* Of its exact size, so that a read beyond it is seen. */
	copy = malloc(size - 1 ? size - 1 : 1);
	assert(copy);
	memcpy(copy, data + 1, size - 1);
	if (data[0] % 3 == 0)
		fuzz_answer(copy, size - 1);
	else if (data[0] % 3 == 1)
		fuzz_resolver(copy, size - 1);
	else
		fuzz_status_line(copy, size - 1);
	free(copy);
	return 0;
}
