// SPDX-License-Identifier: GPL-2.0-or-later
// policy/kernel/kform and kdiff: messages to lines, and what differs between two.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "policy/kernel/kdiff.h"
#include "policy/kernel/kform.h"
#include "policy/kernel/kleaf.h"

#define ROOM 16384

/* Messages as a kernel sends them, made with the builder of our own batches. */
struct dump {
	char buffer[ROOM] __attribute__((aligned(8)));
	struct nfnl_batch batch;
};

static void start(struct dump *dump)
{
	static struct nfnl no_socket;

	nfnl_batch_start(&dump->batch, &no_socket, dump->buffer, ROOM);
	nfnl_batch_add(&dump->batch, NFT_MSG_NEWTABLE, NFPROTO_INET, 0);
	nfnl_put_string(&dump->batch, NFTA_TABLE_NAME, "t");
	nfnl_put_u32(&dump->batch, NFTA_TABLE_FLAGS, 0);
	nfnl_put_u32(&dump->batch, NFTA_TABLE_USE, 77);
}

/* What was put, without the batch's own first message. */
static struct bytes finish(struct dump *dump)
{
	size_t head = sizeof(struct nlmsghdr) + 4;
	struct bytes bytes;

	nfnl_batch_add(&dump->batch, NFT_MSG_NEWTABLE, 0, 0);
	assert_false(dump->batch.is_full);
	bytes.size = dump->batch.used - head;
	bytes.data = malloc(bytes.size);
	assert_non_null(bytes.data);
	memcpy(bytes.data, dump->buffer + head, bytes.size);
	return bytes;
}

static void put_chain(struct dump *dump, const char *name, int priority)
{
	struct nlattr *hook;

	nfnl_batch_add(&dump->batch, NFT_MSG_NEWCHAIN, NFPROTO_INET, 0);
	nfnl_put_string(&dump->batch, NFTA_CHAIN_TABLE, "t");
	nfnl_put_string(&dump->batch, NFTA_CHAIN_NAME, name);
	if (!priority)
		return;
	hook = nfnl_nest(&dump->batch, NFTA_CHAIN_HOOK);
	nfnl_put_u32(&dump->batch, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	nfnl_put_u32(&dump->batch, NFTA_HOOK_PRIORITY, (uint32_t)priority);
	nfnl_nest_end(&dump->batch, hook);
	nfnl_put_u32(&dump->batch, NFTA_CHAIN_POLICY, NF_ACCEPT);
	nfnl_put_string(&dump->batch, NFTA_CHAIN_TYPE, "filter");
	nfnl_put_u32(&dump->batch, NFTA_CHAIN_FLAGS, NFT_CHAIN_BASE);
}

static void put_set(struct dump *dump, const char *name, uint32_t flags)
{
	nfnl_batch_add(&dump->batch, NFT_MSG_NEWSET, NFPROTO_INET, 0);
	nfnl_put_string(&dump->batch, NFTA_SET_TABLE, "t");
	nfnl_put_string(&dump->batch, NFTA_SET_NAME, name);
	nfnl_put_u32(&dump->batch, NFTA_SET_FLAGS, flags);
	nfnl_put_u32(&dump->batch, NFTA_SET_KEY_TYPE, 24);
}

static void put_element(struct dump *dump, const char *set, uint32_t key, int64_t left)
{
	uint64_t remaining = htobe64((uint64_t)left);
	struct nlattr *list, *element, *data;

	nfnl_batch_add(&dump->batch, NFT_MSG_NEWSETELEM, NFPROTO_INET, 0);
	nfnl_put_string(&dump->batch, NFTA_SET_ELEM_LIST_TABLE, "t");
	nfnl_put_string(&dump->batch, NFTA_SET_ELEM_LIST_SET, set);
	list = nfnl_nest(&dump->batch, NFTA_SET_ELEM_LIST_ELEMENTS);
	element = nfnl_nest(&dump->batch, NFTA_LIST_ELEM);
	data = nfnl_nest(&dump->batch, NFTA_SET_ELEM_KEY);
	nfnl_put_bytes(&dump->batch, NFTA_DATA_VALUE, &key, sizeof(key));
	nfnl_nest_end(&dump->batch, data);
	if (left >= 0)
		nfnl_put_bytes(&dump->batch, NFTA_SET_ELEM_EXPIRATION, &remaining,
			       sizeof(remaining));
	nfnl_nest_end(&dump->batch, element);
	nfnl_nest_end(&dump->batch, list);
}

/* A rule of one expression with one number, or with a text if there is one. */
static void put_rule(struct dump *dump, const char *chain, const char *name,
		     uint16_t type, uint32_t number, const char *text)
{
	struct nlattr *list, *expression, *data;

	nfnl_batch_add(&dump->batch, NFT_MSG_NEWRULE, NFPROTO_INET, 0);
	nfnl_put_string(&dump->batch, NFTA_RULE_TABLE, "t");
	nfnl_put_string(&dump->batch, NFTA_RULE_CHAIN, chain);
	list = nfnl_nest(&dump->batch, NFTA_RULE_EXPRESSIONS);
	expression = nfnl_nest(&dump->batch, NFTA_LIST_ELEM);
	nfnl_put_string(&dump->batch, NFTA_EXPR_NAME, name);
	data = nfnl_nest(&dump->batch, NFTA_EXPR_DATA);
	if (text)
		nfnl_put_string(&dump->batch, type, text);
	else
		nfnl_put_u32(&dump->batch, type, number);
	nfnl_nest_end(&dump->batch, data);
	nfnl_nest_end(&dump->batch, expression);
	nfnl_nest_end(&dump->batch, list);
}

static struct kform decode(struct dump *dump, unsigned int options)
{
	struct bytes messages = finish(dump);
	struct kform form = {0};
	struct diag diag = {0};

	assert_int_equal(kform_decode(&messages, options, &form, &diag), 0);
	return form;
}

static void assert_undecided(struct bytes messages)
{
	struct kform form = {0};
	struct diag diag = {0};

	assert_int_not_equal(kform_decode(&messages, 0, &form, &diag), 0);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_null(form.text.data);
}

static void lines_are_in_their_order(void **state)
{
	static struct dump dump;
	struct kform form;

	(void)state;
	start(&dump);
	put_chain(&dump, "b", -150);
	put_chain(&dump, "a", 0);
	put_set(&dump, "z", 0);
	put_set(&dump, "y", NFT_SET_TIMEOUT);
	put_element(&dump, "z", htonl(2), -1);
	put_element(&dump, "z", htonl(1), -1);
	put_element(&dump, "y", htonl(3), 5000);
	put_rule(&dump, "b", "meta", NFTA_META_KEY, 2, NULL);
	put_rule(&dump, "b", "meta", NFTA_META_KEY, 1, NULL);
	form = decode(&dump, 0);
	assert_string_equal(form.text.data,
			    "table inet t flags=0x00000000\n"
			    "set y flags=0x00000010 key_type=24\n"
			    "set z flags=0x00000000 key_type=24\n"
			    "element z key=00000001\n"
			    "element z key=00000002\n"
			    "chain a\n"
			    "chain b hook(number=3 priority=-150) policy=1 type=filter "
			    "flags=0x00000001\n"
			    "rule b meta(key=2)\n"
			    "rule b meta(key=1)\n");
	assert_int_equal(form.timed_count, 1);
	assert_string_equal(form.timed[0].set, "y");
	assert_int_equal(form.timed[0].remaining_ms, 5000);
	assert_false(form.timed[0].is_permanent);
	kform_release(&form);
}

static void anonymous_things_have_their_referers_numbers(void **state)
{
	static struct dump dump;
	struct kform form;

	(void)state;
	start(&dump);
	put_chain(&dump, "c", 0);
	put_set(&dump, "__set7", NFT_SET_ANONYMOUS);
	put_set(&dump, "__map3", NFT_SET_ANONYMOUS | NFT_SET_MAP);
	put_set(&dump, "__set9", 0); /* somebody's name */
	put_rule(&dump, "c", "lookup", NFTA_LOOKUP_SET, 0, "__map3");
	put_rule(&dump, "c", "lookup", NFTA_LOOKUP_SET, 0, "__set7");
	put_rule(&dump, "c", "lookup", NFTA_LOOKUP_SET, 0, "__set9");
	form = decode(&dump, 0);
	assert_non_null(strstr(form.text.data, "\nrule c lookup(set=__map0)\n"
					       "rule c lookup(set=__set1)\n"
					       "rule c lookup(set=\"__set9\")\n"));
	assert_non_null(strstr(form.text.data, "\nset \"__set9\" "));
	assert_non_null(strstr(form.text.data, "\nset __map0 flags=0x00000009"));
	kform_release(&form);
}

static void what_is_not_known_stays(void **state)
{
	static struct dump dump;
	struct kform form;

	(void)state;
	start(&dump);
	put_chain(&dump, "c", 0);
	put_rule(&dump, "c", "meta", 99, 0xabcdef01, NULL);
	put_rule(&dump, "c", "meta", NFTA_META_KEY, 0, "wide");
	put_rule(&dump, "c", "brandnew", 1, 7, NULL);
	form = decode(&dump, 0);
	assert_non_null(strstr(form.text.data, "rule c meta(#99=abcdef01)\n"));
	assert_non_null(strstr(form.text.data, "rule c meta(key?7769646500)\n"));
	assert_non_null(strstr(form.text.data, "rule c brandnew(?0800010000000007)\n"));
	kform_release(&form);
}

static void inert_things_can_be_left_out(void **state)
{
	static struct dump dump;
	struct kform form;

	(void)state;
	start(&dump);
	put_chain(&dump, "plain_base", -150);
	put_chain(&dump, "regular", 0);
	put_chain(&dump, "used", 0);
	put_rule(&dump, "used", "lookup", NFTA_LOOKUP_SET, 0, "referred");
	put_set(&dump, "referred", 0);
	put_set(&dump, "empty", 0);
	put_set(&dump, "full", 0);
	put_element(&dump, "full", 1, -1);
	form = decode(&dump, KFORM_WITHOUT_INERT);
	assert_string_equal(form.text.data, "table inet t flags=0x00000000\n"
					    "set full flags=0x00000000 key_type=24\n"
					    "element full key=01000000\n"
					    "set referred flags=0x00000000 key_type=24\n"
					    "chain used\n"
					    "rule used lookup(set=referred)\n");
	assert_int_equal(form.chain_count, 1);
	kform_release(&form);
}

static void age_of_chains_that_meet(void **state)
{
	static struct dump dump;
	struct kform form;

	(void)state;
	start(&dump);
	put_chain(&dump, "b", -150);
	put_chain(&dump, "c", -1);
	put_chain(&dump, "a", -150);
	form = decode(&dump, 0);
	assert_non_null(strstr(form.text.data, "chain a hook(number=3 priority=-150) "
					       "policy=1 type=filter flags=0x00000001 "
					       "older=1\n"));
	assert_int_equal(strstr(strstr(form.text.data, "older") + 1, "older"), NULL);
	kform_release(&form);
}

static void broken_dumps_are_no_verdict(void **state)
{
	static struct dump dump;
	struct bytes messages;

	(void)state;
	assert_undecided((struct bytes){0});
	start(&dump);
	put_rule(&dump, "nowhere", "meta", NFTA_META_KEY, 1, NULL);
	assert_undecided(finish(&dump));
	start(&dump);
	put_element(&dump, "nowhere", 1, -1);
	assert_undecided(finish(&dump));
	start(&dump);
	put_chain(&dump, "c", 0);
	put_chain(&dump, "c", 0);
	assert_undecided(finish(&dump));
	start(&dump);
	nfnl_batch_add(&dump.batch, NFT_MSG_NEWTABLE, NFPROTO_INET, 0);
	nfnl_put_string(&dump.batch, NFTA_TABLE_NAME, "u");
	assert_undecided(finish(&dump));
	start(&dump);
	put_chain(&dump, "c", 0);
	messages = finish(&dump);
	messages.size -= 4;
	assert_undecided(messages);
}

/* --- differences --------------------------------------------------------------- */

static void make(struct dump *dump, const uint32_t *keys, size_t count, uint32_t element)
{
	start(dump);
	put_chain(dump, "c", -150);
	put_set(dump, "__set0", NFT_SET_ANONYMOUS);
	put_set(dump, "s", 0);
	put_element(dump, "__set0", element, -1);
	put_element(dump, "s", 1000, -1);
	for (size_t i = 0; i < count; i++)
		put_rule(dump, "c", "meta", NFTA_META_KEY, keys[i], NULL);
	put_rule(dump, "c", "lookup", NFTA_LOOKUP_SET, 0, "__set0");
}

#define KEYS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4

static size_t differences(const uint32_t *wanted, size_t wanted_count,
			  const uint32_t *live, size_t live_count, uint32_t element,
			  char report[ROOM])
{
	static struct dump left, right;
	OWN(own_buffer) struct buffer text = {0};
	struct kform a, b;
	struct diag diag = {0};
	size_t count = 0;

	make(&left, wanted, wanted_count, 1);
	make(&right, live, live_count, element);
	a = decode(&left, 0);
	b = decode(&right, 0);
	assert_int_equal(kdiff_report(&(struct kdiff_side){&a, NULL},
				      &(struct kdiff_side){&b, NULL}, &text, &count,
				      &diag),
			 0);
	snprintf(report, ROOM, "%s", text.bytes.data ? text.bytes.data : "");
	kform_release(&a);
	kform_release(&b);
	return count;
}

static void rules_are_paired(void **state)
{
	char report[ROOM];

	(void)state;
	assert_int_equal(differences(KEYS(1, 2, 3), KEYS(1, 2, 3), 1, report), 0);
	assert_string_equal(report, "");
	assert_int_equal(differences(KEYS(1, 2, 3), KEYS(1, 3), 1, report), 1);
	assert_non_null(strstr(report, "chain c: rule 2 is missing\n"));
	assert_int_equal(differences(KEYS(1, 3), KEYS(1, 2, 3), 1, report), 1);
	assert_non_null(strstr(report, "chain c: rule 2 is not of the policy\n"));
	assert_int_equal(differences(KEYS(1, 2, 3), KEYS(1, 9, 3), 1, report), 1);
	assert_non_null(strstr(report, "chain c: rule 2 differs\n"));
	assert_non_null(strstr(report, "meta key: must be 2, is 9\n"));
	assert_int_equal(differences(KEYS(1, 2, 3), KEYS(2, 3, 1), 1, report), 1);
	assert_non_null(strstr(report, "chain c: rule 3 is in the wrong place: it must "
				       "be rule 1\n"));
	assert_int_equal(differences(KEYS(1, 2, 3, 4), KEYS(5, 1, 3, 9), 1, report), 3);
}

static void anonymous_sets_count_by_what_they_hold(void **state)
{
	char report[ROOM];

	(void)state;
	assert_int_equal(differences(KEYS(1), KEYS(1), 2, report), 1);
	assert_non_null(strstr(report, "chain c: rule 2 differs\n"));
	assert_non_null(strstr(report, "key=01000000"));
	assert_non_null(strstr(report, "key=02000000"));
}

static void lines_are_taken_apart(void **state)
{
	static const char line[] = "rule c a(b=1 c(d=\"x) y\" e=f(g=-2))) counter() h";
	static struct kleaf leaves[KLEAF_MAX];
	static const char *const wanted[][2] = {
		{"", "rule"},        {"", "c"},       {"a b", "1"}, {"a c d", "\"x) y\""},
		{"a c e=f g", "-2"}, {"counter", ""}, {"", "h"},
	};
	size_t count = kleaf_split(line, strlen(line), leaves);

	(void)state;
	assert_int_equal(count, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(leaves[i].size, strlen(wanted[i][1]));
		assert_memory_equal(leaves[i].value, wanted[i][1], leaves[i].size);
		assert_string_equal(leaves[i].path, wanted[i][0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_in_their_order),
		cmocka_unit_test(anonymous_things_have_their_referers_numbers),
		cmocka_unit_test(what_is_not_known_stays),
		cmocka_unit_test(inert_things_can_be_left_out),
		cmocka_unit_test(age_of_chains_that_meet),
		cmocka_unit_test(broken_dumps_are_no_verdict),
		cmocka_unit_test(rules_are_paired),
		cmocka_unit_test(anonymous_sets_count_by_what_they_hold),
		cmocka_unit_test(lines_are_taken_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
