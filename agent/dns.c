// SPDX-License-Identifier: GPL-2.0-or-later
// One DNS question, what an answer to it says, and whom to ask.
#include "agent/dns.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/inet.h"

/* RFC 1035, 4.1.1: bytes 2 and 3 of the header. */
#define FLAG_QR 0x80
#define FLAG_RD 0x01
#define OPCODE_MASK 0x78
#define RCODE_MASK 0x0f

enum { RCODE_NOERROR = 0, RCODE_SERVFAIL = 2, RCODE_NXDOMAIN = 3, RCODE_REFUSED = 5 };

#define TYPE_A 1
#define CLASS_IN 1

static void append_number(struct dns_question *question, unsigned int number)
{
	question->bytes[question->size++] = (uint8_t)(number >> 8);
	question->bytes[question->size++] = (uint8_t)number;
}

void dns_question_write(const char *name, uint16_t id, struct dns_question *ret_question)
{
	struct dns_question *question = ret_question;
	size_t length;

	assert(inet_is_name(name));
	question->size = 0;
	append_number(question, id);
	append_number(question, FLAG_RD << 8);
	append_number(question, 1); /* questions */
	append_number(question, 0); /* answers */
	append_number(question, 0); /* authorities */
	append_number(question, 0); /* additional records */
	for (const char *label = name;; label += length + 1) {
		length = strcspn(label, ".");
		question->bytes[question->size++] = (uint8_t)length;
		memcpy(question->bytes + question->size, label, length);
		question->size += length;
		if (!label[length])
			break;
	}
	question->bytes[question->size++] = 0;
	append_number(question, TYPE_A);
	append_number(question, CLASS_IN);
}

/* Lengths of labels are below 64, so folding cannot touch them. */
static uint8_t fold(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
}

static bool is_same_question(const struct dns_question *question, const uint8_t *data)
{
	size_t type_and_class = question->size - 4;

	for (size_t i = DNS_HEADER_SIZE; i < type_and_class; i++)
		if (fold(data[i]) != question->bytes[i])
			return false;
	return memcmp(data + type_and_class, question->bytes + type_and_class, 4) == 0;
}

enum dns_verdict dns_answer_judge(const struct dns_question *question,
				  const uint8_t *data, size_t size)
{
	if (size < question->size)
		return DNS_STRAY;
	if (memcmp(data, question->bytes, 2) != 0 || !(data[2] & FLAG_QR) ||
	    (data[2] & OPCODE_MASK))
		return DNS_STRAY;
	if (data[4] != 0 || data[5] != 1 || !is_same_question(question, data))
		return DNS_STRAY;
	switch (data[3] & RCODE_MASK) {
	case RCODE_NOERROR:
	case RCODE_NXDOMAIN:
		return DNS_REACHED;
	case RCODE_SERVFAIL:
	case RCODE_REFUSED:
		return DNS_REFUSED;
	default:
		return DNS_OTHER;
	}
}

static size_t blank_span(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && (text[length] == ' ' || text[length] == '\t'))
		length++;
	return length;
}

/* The address of one line of resolv.conf, if it names an IPv4 server. */
static bool read_line(const char *line, size_t size, struct in_addr *ret_address)
{
	static const char keyword[] = "nameserver";
	const size_t keyword_size = sizeof(keyword) - 1;
	char text[INET_ADDRSTRLEN] = "";
	size_t blanks, length = 0;
	uint32_t address;

	/* The keyword starts its line; a '#' or ';' there makes it a comment. */
	if (size < keyword_size || memcmp(line, keyword, keyword_size) != 0)
		return false;
	blanks = blank_span(line + keyword_size, size - keyword_size);
	if (blanks == 0)
		return false;
	line += keyword_size + blanks;
	size -= keyword_size + blanks;
	while (length < size && line[length] != ' ' && line[length] != '\t' &&
	       line[length] != '\r')
		length++;
	if (length >= sizeof(text))
		return false;
	memcpy(text, line, length);
	if (strlen(text) != length || !inet_is_ipv4(text, &address))
		return false;
	ret_address->s_addr = htonl(address);
	return true;
}

int dns_resolver_find(const char *text, size_t size, struct in_addr *ret_address)
{
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		if (read_line(text, length, ret_address))
			return 0;
		if (!end)
			break;
		text += length + 1;
		size -= length + 1;
	}
	return -ENOENT;
}
