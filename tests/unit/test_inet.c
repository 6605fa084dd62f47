// SPDX-License-Identifier: GPL-2.0-or-later
// common/inet: one text for one address, the special ranges' edges, host names.
#include "tests/unit/unit.h"

#include <arpa/inet.h>

#include "common/inet.h"

static void canonical_ipv4(void **state)
{
	static const char *const refused[] = {
		"",           "1",
		"1.2.3",      "1.2.3.4.5",
		"01.2.3.4",   "1.2.3.04",
		"1.2.3.256",  "1.2.3.-1",
		" 1.2.3.4",   "1.2.3.4 ",
		"1.2.3.4\n",  "0x1.2.3.4",
		"1.2.3.0x4",  "1.2.772",
		"16909060",   "1.2.3.+4",
		"1.2.3.4/32", "1.2.3.4:80",
		"1..3.4",     ".1.2.3.4",
		"1.2.3.4.",   "127.1",
		"0377.0.0.1", "1.2.3.4%1",
		"a.b.c.d",    "\xd9\xa1.2.3.4",
	};
	uint32_t address = 5;

	(void)state;
	assert_true(inet_is_ipv4("192.0.2.130", &address));
	assert_int_equal(address, 0xc0000282);
	assert_true(inet_is_ipv4("0.0.0.0", &address));
	assert_int_equal(address, 0);
	assert_true(inet_is_ipv4("255.255.255.255", &address));
	assert_int_equal(address, 0xffffffff);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (inet_is_ipv4(refused[i], &address))
			fail_msg("\"%s\" is not a canonical address", refused[i]);
	assert_int_equal(address, 0xffffffff);
}

/* RFC 5952, section 4. */
static void canonical_ipv6(void **state)
{
	static const char *const accepted[] = {
		"::",
		"::1",
		"2001:db8::1",
		"2001:db8::1:0:0:1",
		"2001:db8:0:1:1:1:1:1",
		"fe80::1",
		"ff02::1",
		"1:2:3:4:5:6:7:8",
		"64:ff9b::c000:201",
		"1::8",
		"2001:0:0:1::1",
		"0:1:2:3:4:5:6:7",
	};
	static const char *const refused[] = {
		"2001:DB8::1",
		"2001:0db8::1",
		"2001:db8:0:0:0:0:0:1",
		"2001:db8::0:1",
		"2001::1::1",
		":::",
		":1",
		"1:",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"2001:db8::1:1:1:1:1",
		"fe80::1%eth0",
		"fe80::1%1",
		"[::1]",
		"::1/128",
		"::ffff:192.0.2.1",
		"::FFFF:192.0.2.1",
		"::ffff:c000:201",
		"2001:0:0:1:0:0:0:1",
		"2001:db8::g",
		"2001:db8::12345",
		" ::1",
		"::1 ",
		"::1\n",
		"",
	};
	struct sockaddr_storage address;
	socklen_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
		char again[INET_TEXT_SIZE];

		memset(&address, 0xff, sizeof(address));
		assert_int_equal(inet_parse(accepted[i], 443, &address, &size), 0);
		assert_int_equal(size, sizeof(struct sockaddr_in6));
		assert_int_equal(six->sin6_family, AF_INET6);
		assert_int_equal(ntohs(six->sin6_port), 443);
		assert_int_equal(six->sin6_scope_id, 0);
		assert_int_equal(six->sin6_flowinfo, 0);
		inet_ntop(AF_INET6, &six->sin6_addr, again, sizeof(again));
		assert_string_equal(again, accepted[i]);
	}
	size = 77;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (inet_parse(refused[i], 443, &address, &size) != -EINVAL)
			fail_msg("\"%s\" is not a canonical address", refused[i]);
	assert_int_equal(size, 77);
}

static void ipv4_endpoint(void **state)
{
	struct sockaddr_storage address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
	socklen_t size;

	(void)state;
	assert_int_equal(inet_parse("192.0.2.1", 65535, &address, &size), 0);
	assert_int_equal(size, sizeof(*four));
	assert_int_equal(four->sin_family, AF_INET);
	assert_int_equal(ntohs(four->sin_port), 65535);
	assert_int_equal(ntohl(four->sin_addr.s_addr), 0xc0000201);
}

struct edge {
	const char *text;
	bool is_in;
};

static void check_edges(const struct edge *edges, size_t count, bool (*is_in)(uint32_t))
{
	for (size_t i = 0; i < count; i++) {
		uint32_t address = 0;

		assert_true(inet_is_ipv4(edges[i].text, &address));
		if (is_in(address) != edges[i].is_in)
			fail_msg("%s", edges[i].text);
	}
}

static void ranges_end_where_they_end(void **state)
{
	static const struct edge special[] = {
		{"0.0.0.0", true},         {"0.255.255.255", true},
		{"1.0.0.0", false},        {"169.253.255.255", false},
		{"169.254.0.0", true},     {"169.254.169.254", true},
		{"169.254.255.255", true}, {"169.255.0.0", false},
		{"127.0.0.1", false},      {"223.255.255.255", false},
		{"224.0.0.0", true},       {"239.255.255.255", true},
		{"240.0.0.0", true},       {"255.255.255.255", true},
	};
	static const struct edge private[] = {
		{"9.255.255.255", false},   {"10.0.0.0", true},
		{"10.255.255.255", true},   {"11.0.0.0", false},
		{"172.15.255.255", false},  {"172.16.0.0", true},
		{"172.31.255.255", true},   {"172.32.0.0", false},
		{"192.167.255.255", false}, {"192.168.0.0", true},
		{"192.168.255.255", true},  {"192.169.0.0", false},
		{"100.64.0.1", false},
	};
	static const struct edge loopback[] = {
		{"126.255.255.255", false},
		{"127.0.0.0", true},
		{"127.255.255.255", true},
		{"128.0.0.0", false},
	};

	(void)state;
	check_edges(special, ARRAY_SIZE(special), inet_is_special);
	check_edges(private, ARRAY_SIZE(private), inet_is_private);
	check_edges(loopback, ARRAY_SIZE(loopback), inet_is_loopback);
}

#define L63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"

static void host_names(void **state)
{
	static const char *const accepted[] = {
		"a.b",
		"example.org",
		"a-b.c-d.e",
		"1.a",
		"xn--bcher-kva.example",
		"a.1b",
		L63 ".a",
		L63 "." L63 "." L63 "."
		    "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxy",
	};
	static const char *const refused[] = {
		"",
		".",
		"a",
		"localhost",
		"a.",
		".a",
		"a..b",
		"A.b",
		"a.B",
		"a_b.c",
		"-a.b",
		"a-.b",
		"a.-b",
		"a.b-",
		"a b.c",
		"a.b ",
		"1.2.3.4",
		"a.1",
		"a.b\n",
		"b\xc3\xbc"
		"cher.example",
		L63 "1.a",
		"*.a.b",
		"a.b:80",
		"a/b.c",
		L63 "." L63 "." L63 "."
		    "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++)
		if (!inet_is_name(accepted[i]))
			fail_msg("\"%s\" is a name", accepted[i]);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (inet_is_name(refused[i]))
			fail_msg("\"%s\" is not a name", refused[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_ipv4),
		cmocka_unit_test(canonical_ipv6),
		cmocka_unit_test(ipv4_endpoint),
		cmocka_unit_test(ranges_end_where_they_end),
		cmocka_unit_test(host_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
