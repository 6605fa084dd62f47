/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses as canonical literals: one text for one address. */
#ifndef COMMON_INET_H
#define COMMON_INET_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define INET_TEXT_SIZE INET6_ADDRSTRLEN

/* An address and port in text. `address` is canonical once decoded. */
struct endpoint {
	char address[INET_TEXT_SIZE];
	uint16_t port;
};

/* Parses a canonical IPv4 (dotted decimal) or IPv6 (RFC 5952, no scope)
 * literal with a port in host order. An IPv4 address in IPv6 clothes (RFC 4291,
 * 2.5.5.2: ::ffff:192.0.2.1) is not one: the kernel would connect over IPv4 and
 * answer the IPv6 question with it. Returns 0 or -EINVAL. */
int inet_parse(const char *address, uint16_t port, struct sockaddr_storage *ret_address,
	       socklen_t *ret_size);

/* Whether `text` is a canonical IPv4 literal; the address, in host order. */
bool inet_is_ipv4(const char *text, uint32_t *ret_address);

/* Whether no packet to it can have one ordinary receiver: "this network"
 * 0.0.0.0/8, link-local 169.254.0.0/16, multicast 224.0.0.0/4, reserved
 * 240.0.0.0/4 with broadcast (RFC 6890). Host order. Loopback is not special. */
bool inet_is_special(uint32_t address);

/* Whether it is in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 (RFC 1918). */
bool inet_is_private(uint32_t address);

/* Whether it is in 127.0.0.0/8 (RFC 1122, 3.2.1.3). */
bool inet_is_loopback(uint32_t address);

/* Whether `text` is a lower-case host name of two labels or more: letters,
 * digits and inner hyphens, labels of 1 to 63, 253 in all (RFC 1035, 2.3.4;
 * RFC 1123, 2.1), whose last label is not all digits. */
bool inet_is_name(const char *text);

#endif
