// SPDX-License-Identifier: GPL-2.0-or-later
// Legacy ip_tables, ip6_tables and arp_tables, which no nft listing shows.
#include "policy/kernel/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netfilter_arp/arp_tables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "common/own.h"

/*
 * The kernel lists the names of the tables that exist in
 * /proc/PID/net/{ip,ip6,arp}_tables_names. Only those are asked for: asking for
 * another would make it. A table without rules holds one entry for each of its
 * hooks, the policy, and one that ends it; it is not even listed, since looking
 * at it with the wrong tool is enough to make one.
 */

struct family {
	const char *name, *list;
	int domain, protocol, level, option;
};

static const struct family families[] = {
	{"ip_tables", "/proc/thread-self/net/ip_tables_names", AF_INET, IPPROTO_RAW,
	 IPPROTO_IP, IPT_SO_GET_INFO},
	{"ip6_tables", "/proc/thread-self/net/ip6_tables_names", AF_INET6, IPPROTO_RAW,
	 IPPROTO_IPV6, IP6T_SO_GET_INFO},
	{"arp_tables", "/proc/thread-self/net/arp_tables_names", AF_INET, IPPROTO_RAW,
	 IPPROTO_IP, ARPT_SO_GET_INFO},
};

/* What the three structures have in common, read from whichever it is. */
struct table_info {
	unsigned int valid_hooks, entries;
};

union info {
	struct ipt_getinfo ip;
	struct ip6t_getinfo ip6;
	struct arpt_getinfo arp;
};

static int ask(const struct family *family, const char *table,
	       struct table_info *ret_info)
{
	OWN(own_fd)
	int fd = socket(family->domain, SOCK_RAW | SOCK_CLOEXEC, family->protocol);
	union info info = {0};
	socklen_t size;

	if (fd < 0)
		return -errno;
	/* The name comes first in each of them. */
	snprintf(info.ip.name, sizeof(info.ip.name), "%s", table);
	size = family->option == ARPT_SO_GET_INFO ? sizeof(info.arp) : sizeof(info.ip);
	if (getsockopt(fd, family->level, family->option, &info, &size) != 0)
		return -errno;
	if (family->option == ARPT_SO_GET_INFO)
		*ret_info =
			(struct table_info){info.arp.valid_hooks, info.arp.num_entries};
	else
		*ret_info = (struct table_info){info.ip.valid_hooks, info.ip.num_entries};
	return 0;
}

_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo),
	       "IPv4 and IPv6 tables describe themselves alike");

static int add_table(const struct family *family, const char *table,
		     struct foreign *foreign, struct diag *diag)
{
	char name[FOREIGN_NAME_SIZE], harm[FOREIGN_HARM_SIZE];
	struct table_info info = {0};
	unsigned int rules;
	int error;

	snprintf(name, sizeof(name), "legacy %s %s", family->name, table);
	error = ask(family, table, &info);
	if (error)
		return diag_fail(diag, -error, name, "cannot be read");
	rules = info.entries - (unsigned int)__builtin_popcount(info.valid_hooks) - 1;
	if (!rules)
		return 0;
	snprintf(
		harm, sizeof(harm),
		"%u rules or chains that no nft listing shows can change or copy packets",
		rules);
	return foreign_add(foreign, name, name, strlen(name), harm, diag);
}

int foreign_read_legacy(struct foreign *foreign, struct diag *diag)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		OWN(own_file) FILE *names = fopen(families[i].list, "re");
		char table[XT_TABLE_MAXNAMELEN + 1];
		int error;

		/* Not there: the kernel has no such tables in any namespace. */
		if (!names && errno == ENOENT)
			continue;
		if (!names)
			return diag_fail(diag, errno, families[i].list, "cannot be read");
		while (fgets(table, sizeof(table), names)) {
			table[strcspn(table, "\n")] = '\0';
			error = add_table(&families[i], table, foreign, diag);
			if (error)
				return error;
		}
		if (ferror(names))
			return diag_fail(diag, errno, families[i].list, "cannot be read");
	}
	return 0;
}
