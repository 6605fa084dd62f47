// SPDX-License-Identifier: GPL-2.0-or-later
// Policy routing: rules that could send the workload another way than a control.
#include "policy/kernel/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include "common/own.h"
#include "policy/kernel/rtnl.h"

/*
 * A control proves a denial by making the same attempt from outside the policy. A
 * rule that routes by user, or that ends with a prohibition, could deny the one
 * and not the other without any packet filter. A rule is harmless if it only looks
 * a table up, by what both attempts share.
 */

/* Selectors that a probe and its control cannot differ in, and what is no
 * selector: linux/fib_rules.h. */
static bool is_shared_selector(uint16_t type)
{
	switch (type) {
	case FRA_DST:
	case FRA_SRC:
	case FRA_IIFNAME:
	case FRA_OIFNAME:
	case FRA_PRIORITY:
	case FRA_FWMARK:
	case FRA_FWMASK:
	case FRA_SUPPRESS_IFGROUP:
	case FRA_SUPPRESS_PREFIXLEN:
	case FRA_TABLE:
	case FRA_PAD:
	case FRA_L3MDEV:
	case FRA_PROTOCOL:
	case FRA_IP_PROTO:
	case FRA_DPORT_RANGE:
		return true;
	default:
		return false;
	}
}

static const char *harm_of(const struct fib_rule_hdr *rule, struct attributes rest)
{
	struct attribute attribute;

	if (rule->action != FR_ACT_TO_TBL)
		return "a routing rule that does not look a table up";
	while (attribute_next(&rest, &attribute)) {
		if (attribute.type == FRA_UID_RANGE)
			return "a routing rule by user";
		if (!is_shared_selector(attribute.type))
			return "a routing rule by something that is not known";
	}
	return rest.size ? "a routing rule that cannot be read" : NULL;
}

struct context {
	struct foreign *foreign;
	size_t before;
	struct diag *diag;
};

static void start(void *context)
{
	struct context *reading = context;

	reading->foreign->count = reading->before;
}

static int take_rule(const struct nlmsghdr *message, void *context)
{
	struct context *reading = context;
	struct attributes rest = rtnl_attributes(message, sizeof(struct fib_rule_hdr));
	struct attributes rows = rest;
	struct attribute attribute;
	uint32_t priority = 0;
	struct fib_rule_hdr rule;
	char name[64];

	if (message->nlmsg_type != RTM_NEWRULE || !rest.data)
		return -EBADMSG;
	memcpy(&rule, NLMSG_DATA(message), sizeof(rule));
	/* The kernel dumps rules of all its families in one go where it can. */
	if (rule.family != AF_INET && rule.family != AF_INET6)
		return 0;
	while (attribute_next(&rows, &attribute))
		if (attribute.type == FRA_PRIORITY && attribute.size == sizeof(priority))
			memcpy(&priority, attribute.data, sizeof(priority));
	snprintf(name, sizeof(name), "routing rule %s %u",
		 rule.family == AF_INET ? "ip" : "ip6", priority);
	return foreign_add(reading->foreign, name, NLMSG_DATA(message),
			   NLMSG_PAYLOAD(message, 0), harm_of(&rule, rest),
			   reading->diag);
}

int foreign_read_routing(struct foreign *foreign, struct diag *diag)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		struct context context = {foreign, foreign->count, diag};
		struct fib_rule_hdr header = {.family = families[i]};
		struct diag failed = {0};
		int error = rtnl_dump(RTM_GETRULE, &header, sizeof(header), start,
				      take_rule, &context, "routing rules", &failed);

		/* A kernel without IPv6 has no rules of it. */
		if (error == -EAFNOSUPPORT || error == -EOPNOTSUPP)
			continue;
		if (error)
			return diag_fail(diag, 0, failed.place, "%s", failed.text);
	}
	return 0;
}
