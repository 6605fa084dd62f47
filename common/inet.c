// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses as canonical literals: one text for one address.
#include "common/inet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define NAME_MAX_LENGTH 253 /* RFC 1035, 2.3.4: 255 octets on the wire */
#define LABEL_MAX_LENGTH 63

bool inet_is_ipv4(const char *text, uint32_t *ret_address)
{
	char canonical[INET_ADDRSTRLEN];
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1 ||
	    !inet_ntop(AF_INET, &address, canonical, sizeof(canonical)) ||
	    strcmp(text, canonical) != 0)
		return false;
	*ret_address = ntohl(address.s_addr);
	return true;
}

static bool is_ipv6(const char *text, struct in6_addr *ret_address)
{
	char canonical[INET6_ADDRSTRLEN];

	return inet_pton(AF_INET6, text, ret_address) == 1 &&
	       !IN6_IS_ADDR_V4MAPPED(ret_address) &&
	       inet_ntop(AF_INET6, ret_address, canonical, sizeof(canonical)) &&
	       strcmp(text, canonical) == 0;
}

int inet_parse(const char *address, uint16_t port, struct sockaddr_storage *ret_address,
	       socklen_t *ret_size)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	uint32_t host;

	if (inet_is_ipv4(address, &host)) {
		four.sin_addr.s_addr = htonl(host);
		memset(ret_address, 0, sizeof(*ret_address));
		memcpy(ret_address, &four, sizeof(four));
		*ret_size = sizeof(four);
		return 0;
	}
	if (!is_ipv6(address, &six.sin6_addr))
		return -EINVAL;
	memset(ret_address, 0, sizeof(*ret_address));
	memcpy(ret_address, &six, sizeof(six));
	*ret_size = sizeof(six);
	return 0;
}

static bool is_within(uint32_t address, uint32_t network, unsigned int bits)
{
	return (address ^ network) >> (32 - bits) == 0;
}

bool inet_is_special(uint32_t address)
{
	return is_within(address, 0x00000000, 8) || is_within(address, 0xa9fe0000, 16) ||
	       is_within(address, 0xe0000000, 4) || is_within(address, 0xf0000000, 4);
}

bool inet_is_private(uint32_t address)
{
	return is_within(address, 0x0a000000, 8) || is_within(address, 0xac100000, 12) ||
	       is_within(address, 0xc0a80000, 16);
}

bool inet_is_loopback(uint32_t address)
{
	return is_within(address, 0x7f000000, 8);
}

static bool is_label_character(char character)
{
	return (character >= 'a' && character <= 'z') ||
	       (character >= '0' && character <= '9') || character == '-';
}

static bool is_label(const char *label, size_t length)
{
	if (length < 1 || length > LABEL_MAX_LENGTH || label[0] == '-' ||
	    label[length - 1] == '-')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_label_character(label[i]))
			return false;
	return true;
}

bool inet_is_name(const char *text)
{
	const char *label = text;
	unsigned int labels = 0;
	size_t length;

	if (strlen(text) > NAME_MAX_LENGTH)
		return false;
	for (;; label += length + 1) {
		length = strcspn(label, ".");
		if (!is_label(label, length))
			return false;
		labels++;
		if (!label[length])
			break;
	}
	return labels >= 2 && strspn(label, "0123456789") != length;
}
