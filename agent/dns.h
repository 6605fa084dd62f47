/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One DNS question, what an answer to it says, and whom to ask. */
#ifndef AGENT_DNS_H
#define AGENT_DNS_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_HEADER_SIZE 12    /* RFC 1035, 4.1.1 */
#define DNS_NAME_WIRE_MAX 255 /* RFC 1035, 2.3.4 */
#define DNS_QUESTION_MAX (DNS_HEADER_SIZE + DNS_NAME_WIRE_MAX + 4)
#define DNS_ANSWER_MAX 4096 /* what is read of an answer; the rest is not needed */
#define DNS_RESOLVER_FILE_MAX 16384

/* A whole message that asks for a name's IPv4 addresses. */
struct dns_question {
	uint8_t bytes[DNS_QUESTION_MAX];
	size_t size;
};

enum dns_verdict {
	DNS_STRAY,   /* not an answer to this question */
	DNS_REACHED, /* NOERROR, with or without records or truncated, or NXDOMAIN */
	DNS_REFUSED, /* REFUSED or SERVFAIL */
	DNS_OTHER,   /* any other response code */
};

/* Writes the question for `name`, which inet_is_name() accepts. */
void dns_question_write(const char *name, uint16_t id, struct dns_question *ret_question);

/* Judges a datagram: it answers when id, QR bit, opcode and question match. Names
 * match without regard to case (RFC 1035, 2.3.3). */
enum dns_verdict dns_answer_judge(const struct dns_question *question,
				  const uint8_t *data, size_t size);

/* Finds the first IPv4 "nameserver" of a resolv.conf (resolv.conf(5)). Returns 0 or
 * -ENOENT. */
int dns_resolver_find(const char *text, size_t size, struct in_addr *ret_address);

#endif
