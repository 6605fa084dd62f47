// SPDX-License-Identifier: GPL-2.0-or-later
// The compiler: a profile, a site and its subjects to one nft transaction.
#include "policy/ruleset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/buffer.h"

#define TIME_TEXT_SIZE 64
#define RULE_SIZE 768

/* What every rule of one transaction is made from. */
struct compilation {
	struct buffer *out;
	const char *table;
	const struct profile *profile;
	char window[TIME_TEXT_SIZE]; /* the match on the wall clock */
	uint32_t worker_mark, daemon_mark;
	int64_t left_ms;
};

/* The first packet of a flow: nobody has marked it yet, neither we nor a foreign
 * rule. A SYN sent again belongs to a flow that is ours already. */
#define NEW_FLOW "ct state new ct mark 0x0"
#define NEW_TCP_FLOW "tcp flags & (fin | syn | rst | ack) == syn " NEW_FLOW
#define LOOPBACK "127.0.0.0/8" /* RFC 1122, 3.2.1.3 */
#define REJECT "counter reject with icmpx admin-prohibited"
#define IS_WORKER "socket cgroupv2 level 2 @worker"
#define IS_DAEMON "socket cgroupv2 level 3 @daemon"

__attribute__((format(printf, 3, 4))) static void add_rule(const struct compilation *to,
							   const char *chain,
							   const char *format, ...)
{
	char text[RULE_SIZE];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* The formats are ours, and all they print is bounded. */
	assert(length > 0 && (size_t)length < sizeof(text));
	buffer_print(to->out, "add rule inet %s %s %s\n", to->table, chain, text);
}

static void add_table(const struct compilation *to, enum ruleset_form form)
{
	buffer_print(to->out, "add table inet %s\n", to->table);
	if (form == RULESET_REPLACE)
		buffer_print(to->out, "delete table inet %s\nadd table inet %s\n",
			     to->table, to->table);
}

static void add_chain(const struct compilation *to, const char *name, const char *hook,
		      int priority)
{
	buffer_print(
		to->out,
		"add chain inet %s %s { type filter hook %s priority %d; policy accept; "
		"}\n",
		to->table, name, hook, priority);
}

/* After this no set of the name exists: it is added first so that there is one to
 * delete. The rules bound to it must have been flushed. */
static void delete_set(const struct compilation *to, const char *name, const char *type)
{
	buffer_print(to->out, "add set inet %s %s { %s; }\n", to->table, name, type);
	buffer_print(to->out, "delete set inet %s %s\n", to->table, name);
}

#define SUBJECTS_TYPE "type uid; flags constant,interval"
#define LEASE_TYPE "type uid; flags timeout"
#define CGROUP_TYPE "type cgroupsv2; flags timeout"
#define FLOWS_TYPE "type mark; flags timeout"

static void delete_timed_sets(const struct compilation *to)
{
	delete_set(to, "lease", LEASE_TYPE);
	delete_set(to, "worker", CGROUP_TYPE);
	delete_set(to, "daemon", CGROUP_TYPE);
	delete_set(to, "flows", FLOWS_TYPE);
}

static void add_subjects(const struct compilation *to, const struct subjects *subjects)
{
	delete_set(to, "subjects", SUBJECTS_TYPE);
	buffer_print(to->out,
		     "add set inet %s subjects { " SUBJECTS_TYPE "; elements = { ",
		     to->table);
	for (size_t i = 0; i < subjects->count; i++) {
		const struct subject_range *range = &subjects->ranges[i];

		buffer_print(to->out, "%s%u", i ? ", " : "", range->first);
		if (range->last != range->first)
			buffer_print(to->out, "-%u", range->last);
	}
	buffer_print(to->out, " }; }\n");
}

static void add_timed_sets(const struct compilation *to, const struct site *site,
			   uint32_t uid)
{
	char worker[SITE_CGROUP_SIZE], daemon[SITE_CGROUP_SIZE];

	site_worker_cgroup(site, worker);
	site_daemon_cgroup(uid, daemon);
	delete_timed_sets(to);
	buffer_print(to->out,
		     "add set inet %s lease { " LEASE_TYPE
		     "; elements = { %u timeout %" PRId64 "ms }; }\n",
		     to->table, uid, to->left_ms);
	buffer_print(to->out,
		     "add set inet %s worker { " CGROUP_TYPE
		     "; elements = { \"%s\" timeout %" PRId64 "ms }; }\n",
		     to->table, worker, to->left_ms);
	buffer_print(to->out,
		     "add set inet %s daemon { " CGROUP_TYPE
		     "; elements = { \"%s\" timeout %" PRId64 "ms }; }\n",
		     to->table, daemon, to->left_ms);
	buffer_print(to->out,
		     "add set inet %s flows { " FLOWS_TYPE
		     "; elements = { 0x%08x timeout %" PRId64 "ms }; }\n",
		     to->table, ruleset_flow_mark(to->profile), to->left_ms);
}

/* The later packets of what worker and daemon opened: confirmed, so that the
 * first one passed a rule below, whoever else may have set such a mark. */
static void add_opened_flows(const struct compilation *to)
{
	add_rule(to, "scoped_output",
		 "%s meta skuid @lease " IS_WORKER
		 " ct direction original ct status confirmed ct mark & 0x%08x == 0x%08x "
		 "counter accept",
		 to->window, ~RULESET_MARK_DAEMON, to->worker_mark);
	add_rule(to, "scoped_output",
		 "%s meta skuid @lease " IS_DAEMON
		 " ct direction original ct status confirmed ct mark & 0x%08x == 0x%08x "
		 "counter accept",
		 to->window, ~RULESET_MARK_WORKER, to->daemon_mark);
}

static void add_worker_grants(const struct compilation *to)
{
	const struct profile *profile = to->profile;

	for (size_t i = 0; i < profile->trusted_tcp_count; i++)
		add_rule(to, "scoped_output",
			 "%s meta skuid @lease " IS_WORKER
			 " ip daddr %s tcp dport %" PRId64 " " NEW_TCP_FLOW
			 " ct mark set 0x%08x counter accept",
			 to->window, profile->trusted_tcp[i].address,
			 profile->trusted_tcp[i].port, to->worker_mark);
	for (size_t i = 0; i < profile->trusted_dns_count; i++) {
		const struct profile_endpoint *server = &profile->trusted_dns[i];

		add_rule(to, "scoped_output",
			 "%s meta skuid @lease " IS_WORKER
			 " ip daddr %s tcp dport %" PRId64 " " NEW_TCP_FLOW
			 " ct mark set 0x%08x counter accept",
			 to->window, server->address, server->port, to->worker_mark);
		add_rule(to, "scoped_output",
			 "%s meta skuid @lease " IS_WORKER
			 " ip daddr %s udp dport %" PRId64 " " NEW_FLOW
			 " ct mark set 0x%08x counter accept",
			 to->window, server->address, server->port, to->worker_mark);
	}
	if (profile->trusted_loopback_tcp)
		add_rule(to, "scoped_output",
			 "%s meta skuid @lease " IS_WORKER
			 " oifname \"lo\" ip daddr " LOOPBACK
			 " meta l4proto tcp " NEW_TCP_FLOW
			 " ct mark set 0x%08x counter accept",
			 to->window, to->worker_mark);
}

static void add_daemon_grants(const struct compilation *to)
{
	const struct profile *profile = to->profile;

	for (size_t i = 0; i < profile->candidate_tcp_count; i++)
		add_rule(to, "scoped_output",
			 "%s meta skuid @lease " IS_DAEMON
			 " ip daddr %s tcp dport %" PRId64 " " NEW_TCP_FLOW
			 " ct mark set 0x%08x counter accept",
			 to->window, profile->candidate_tcp[i].address,
			 profile->candidate_tcp[i].port, to->daemon_mark);
}

/* A SYN-ACK comes from a request socket, which has a uid but no cgroup: the mark
 * that scoped_input set stands in for it. */
static void add_replies(const struct compilation *to)
{
	const struct profile *profile = to->profile;

	for (size_t i = 0; i < profile->candidate_tcp_count; i++)
		add_rule(to, "scoped_output",
			 "%s meta skuid @lease ip saddr %s tcp sport %" PRId64
			 " ct direction reply ct state established "
			 "ct mark & 0x%08x == 0x%08x counter accept",
			 to->window, profile->candidate_tcp[i].address,
			 profile->candidate_tcp[i].port, ~RULESET_MARK_DAEMON,
			 to->worker_mark);
	add_rule(to, "scoped_output",
		 "%s meta skuid @lease oifname \"lo\" ip saddr " LOOPBACK
		 " meta l4proto tcp ct direction reply ct state established "
		 "ct mark & 0x%08x == 0x%08x counter accept",
		 to->window, ~RULESET_MARK_WORKER, to->daemon_mark);
}

/* What no grant has accepted, and what has lost its uid with its process. */
static void add_rejects(const struct compilation *to)
{
	add_rule(to, "scoped_output", "meta skuid @subjects " REJECT);
	add_rule(to, "scoped_output", "%s ct mark & 0x%08x @flows counter accept",
		 to->window, RULESET_FLOW_MASK);
	add_rule(to, "scoped_output", "ct mark & 0x%08x == 0x%08x " REJECT,
		 MARK_OURS_MASK, MARK_OURS);
}

/* Compares each range: a set would be of intervals, see the theory of operation. */
static void add_backstop(const struct compilation *to, const struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++) {
		const struct subject_range *range = &subjects->ranges[i];

		if (range->first == range->last)
			add_rule(to, "marked_output", "meta skuid %u " REJECT,
				 range->first);
		else
			add_rule(to, "marked_output", "meta skuid %u-%u " REJECT,
				 range->first, range->last);
	}
	add_rule(to, "marked_output", "ct mark & 0x%08x == 0x%08x " REJECT,
		 MARK_OURS_MASK, MARK_OURS);
}

/* Binds a connection to the scoped listener that receives it. One that somebody
 * outside the policy opened gets the listener's mark; one that worker or daemon
 * opened has theirs, and gets both. Any other mark is left alone. */
static void add_binding(const struct compilation *to, const char *match, uint32_t from,
			uint32_t mark)
{
	add_rule(to, "scoped_input",
		 "%s %s tcp flags & (fin | syn | rst | ack) == syn ct state new "
		 "ct mark 0x%08x ct mark set 0x%08x counter accept",
		 to->window, match, from, mark);
}

static void add_bindings(const struct compilation *to)
{
	const uint32_t both = to->worker_mark | to->daemon_mark;
	const struct profile *profile = to->profile;
	char match[256];

	for (size_t i = 0; i < profile->candidate_tcp_count; i++) {
		snprintf(match, sizeof(match),
			 "ip daddr %s tcp dport %" PRId64 " " IS_WORKER,
			 profile->candidate_tcp[i].address,
			 profile->candidate_tcp[i].port);
		add_binding(to, match, 0, to->worker_mark);
		add_binding(to, match, to->daemon_mark, both);
	}
	snprintf(match, sizeof(match),
		 "iifname \"lo\" ip daddr " LOOPBACK " meta l4proto tcp " IS_DAEMON);
	add_binding(to, match, 0, to->daemon_mark);
	add_binding(to, match, to->worker_mark, both);
	if (!profile->trusted_loopback_tcp)
		return;
	snprintf(match, sizeof(match),
		 "iifname \"lo\" ip daddr " LOOPBACK " meta l4proto tcp " IS_WORKER);
	add_binding(to, match, to->worker_mark, both);
}

int ruleset_compile(const struct site *site, const struct profile *profile, uint32_t uid,
		    const struct subjects *subjects, int64_t now_ms,
		    enum ruleset_form form, struct bytes *ret_text, struct diag *diag)
{
	const uint32_t mark = ruleset_flow_mark(profile);
	OWN(own_buffer) struct buffer text = {0};
	struct compilation to = {
		.out = &text,
		.table = site->table,
		.profile = profile,
		.worker_mark = mark | RULESET_MARK_WORKER,
		.daemon_mark = mark | RULESET_MARK_DAEMON,
		.left_ms = profile->expires_at_unix * 1000 - now_ms,
	};

	if (to.left_ms <= 0)
		return diag_refuse(diag, "expires_at_unix", "has passed");
	snprintf(to.window, sizeof(to.window), "meta time %" PRId64 "-%" PRId64,
		 profile->issued_at_unix, profile->expires_at_unix);
	add_table(&to, form);
	add_chain(&to, "output", "output", RULESET_GUARD_PRIORITY);
	add_chain(&to, "marked_output", "output", RULESET_SCOPED_PRIORITY);
	add_chain(&to, "scoped_output", "output", RULESET_SCOPED_PRIORITY);
	add_chain(&to, "scoped_input", "input", RULESET_SCOPED_PRIORITY);
	buffer_print(to.out, "flush table inet %s\n", to.table);
	add_subjects(&to, subjects);
	add_timed_sets(&to, site, uid);
	add_opened_flows(&to);
	add_worker_grants(&to);
	add_daemon_grants(&to);
	add_replies(&to);
	add_rejects(&to);
	add_bindings(&to);
	add_rule(&to, "marked_output", "%s ct mark & 0x%08x @flows counter accept",
		 to.window, RULESET_FLOW_MASK);
	add_backstop(&to, subjects);
	return buffer_take(&text, ret_text, diag);
}

int ruleset_compile_guard(const char *table, const struct subjects *subjects,
			  enum ruleset_form form, struct bytes *ret_text,
			  struct diag *diag)
{
	OWN(own_buffer) struct buffer text = {0};
	struct compilation to = {.out = &text, .table = table};

	add_table(&to, form);
	add_chain(&to, "output", "output", RULESET_GUARD_PRIORITY);
	add_chain(&to, "marked_output", "output", RULESET_SCOPED_PRIORITY);
	buffer_print(to.out, "flush table inet %s\n", to.table);
	delete_timed_sets(&to);
	add_subjects(&to, subjects);
	add_rule(&to, "output", "meta skuid @subjects " REJECT);
	add_backstop(&to, subjects);
	return buffer_take(&text, ret_text, diag);
}

uint32_t ruleset_flow_mark(const struct profile *profile)
{
	uint8_t digest[DIGEST_SIZE] = {0};
	uint32_t bits;

	/* Decoded profiles have a digest: this cannot fail. */
	digest_parse_text(profile->sha256, digest);
	bits = (uint32_t)digest[0] << 10 | (uint32_t)digest[1] << 2 | digest[2] >> 6;
	return MARK_OURS | bits;
}

struct ruleset_counts ruleset_count_rules(const struct profile *profile)
{
	int64_t tcp = (int64_t)profile->trusted_tcp_count;
	int64_t dns = (int64_t)profile->trusted_dns_count;
	int64_t candidates = (int64_t)profile->candidate_tcp_count;
	int64_t loopback = profile->trusted_loopback_tcp;

	/* Later packets; grants; replies; rejects. Bindings. */
	return (struct ruleset_counts){
		.scoped_output = 2 + (tcp + 2 * dns + loopback + candidates) +
				 (candidates + 1) + 3,
		.scoped_input = 2 * candidates + 2 + loopback,
	};
}
