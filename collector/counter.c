// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel's deny rules have counted.
#include "collector/counter.h"

#include <errno.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "common/own.h"
#include "policy/kernel/attribute.h"
#include "policy/kernel/nfnl.h"

enum { ATTEMPTS = 8 };

struct sum {
	int64_t packets;
	bool is_odd; /* an attribute that is not as the kernel makes it */
};

static void read_expression(const struct attribute *expression, bool *is_reject,
			    uint64_t *packets)
{
	struct attributes rest = attribute_inside(expression);
	struct attribute part;
	const char *name = NULL;

	while (attribute_next(&rest, &part)) {
		struct attributes inside = attribute_inside(&part);
		struct attribute value;

		if (part.type == NFTA_EXPR_NAME)
			name = attribute_string(&part);
		if (name && strcmp(name, "reject") == 0)
			*is_reject = true;
		if (part.type != NFTA_EXPR_DATA || !name || strcmp(name, "counter") != 0)
			continue;
		while (attribute_next(&inside, &value))
			if (value.type == NFTA_COUNTER_PACKETS)
				attribute_u64(&value, packets);
	}
}

static int add_rule(const struct nlmsghdr *message, void *context)
{
	struct sum *sum = context;
	struct attributes rest = nfnl_attributes(message);
	struct attribute part;
	bool is_reject = false;
	uint64_t packets = 0;

	while (attribute_next(&rest, &part)) {
		struct attributes expressions = attribute_inside(&part);
		struct attribute expression;

		if (part.type != NFTA_RULE_EXPRESSIONS)
			continue;
		while (attribute_next(&expressions, &expression))
			read_expression(&expression, &is_reject, &packets);
	}
	if (packets > INT64_MAX / 2)
		sum->is_odd = true;
	else if (is_reject)
		sum->packets += (int64_t)packets;
	return 0;
}

int counter_read_denied(const char *table, int64_t *ret_packets, struct diag *diag)
{
	const struct nfnl_query query = {
		.type = NFT_MSG_GETRULE,
		.family = NFPROTO_INET,
		.names = {{NFTA_RULE_TABLE, table}},
	};
	OWN(nfnl_close) struct nfnl nfnl = {0};
	int error = nfnl_open(&nfnl, diag);

	for (int i = 0; !error && i < ATTEMPTS; i++) {
		struct sum sum = {0};
		bool is_interrupted;
		int failed;

		error = nfnl_ask(&nfnl, &query, add_rule, &sum, &is_interrupted, &failed,
				 diag);
		if (error)
			break;
		if (failed || sum.is_odd)
			return diag_fail(diag, failed, table,
					 "its counters cannot be read");
		if (!is_interrupted) {
			*ret_packets = sum.packets;
			return 0;
		}
	}
	return error ? error
		     : diag_fail(diag, EINTR, table, "its counters cannot be read whole");
}

int counter_read_generation(int64_t *ret_generation, struct diag *diag)
{
	OWN(nfnl_close) struct nfnl nfnl = {0};
	uint32_t generation;
	int error = nfnl_open(&nfnl, diag);

	if (!error)
		error = nfnl_generation(&nfnl, &generation, diag);
	if (!error)
		*ret_generation = generation;
	return error;
}
