// SPDX-License-Identifier: GPL-2.0-or-later
// The deny guard, loaded over netlink without the nft language.
#include "policy/kernel/guard.h"

#include <errno.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "policy/kernel/nfnl.h"
#include "policy/mark.h"

/* For each range 2 elements of 24 bytes and a rule of under 400; the rest is under
 * 2 KiB. */
#define GUARD_BATCH_SIZE 65536

#define GUARD_PRIORITY (-310)        /* before connection tracking, -200 */
#define GUARD_MARKED_PRIORITY (-150) /* after it: marks are there */

/* nft's own number of the type "uid" (its datatype.h); the kernel only keeps it. */
#define GUARD_TYPE_UID 24

static const char subjects_set[] = "subjects";
static const char output_chain[] = "output";
static const char marked_chain[] = "marked_output";

/* What a table of ours can hold (policy/ruleset.h), in one state or the other. */
static const struct known_chain {
	const char *name;
	uint32_t hook;
	int32_t priority;
} known_chains[] = {
	{output_chain, NF_INET_LOCAL_OUT, GUARD_PRIORITY},
	{marked_chain, NF_INET_LOCAL_OUT, GUARD_MARKED_PRIORITY},
	{"scoped_output", NF_INET_LOCAL_OUT, GUARD_MARKED_PRIORITY},
	{"scoped_input", NF_INET_LOCAL_IN, GUARD_MARKED_PRIORITY},
};
static const char *const known_sets[] = {subjects_set, "lease", "worker", "daemon",
					 "flows"};

/* What is there of a table, found out before it is changed. */
struct survey {
	const char *table;
	bool has_table, has_marked, is_foreign; /* of another shape, or not active */
	bool has_set[ARRAY_SIZE(known_sets)];
};

/* --- what is there ------------------------------------------------------------- */

static bool find(struct attributes row, uint16_t type, struct attribute *ret_found)
{
	while (attribute_next(&row, ret_found))
		if (ret_found->type == type)
			return true;
	return false;
}

static bool is_string(struct attributes row, uint16_t type, const char *wanted)
{
	struct attribute found;
	const char *string;

	if (!find(row, type, &found))
		return false;
	string = attribute_string(&found);
	return string && strcmp(string, wanted) == 0;
}

static bool is_number(struct attributes row, uint16_t type, uint32_t wanted)
{
	struct attribute found;
	uint32_t value;

	return find(row, type, &found) && attribute_u32(&found, &value) &&
	       value == wanted;
}

static int survey_table(const struct nlmsghdr *message, void *context)
{
	struct survey *survey = context;

	survey->has_table = true;
	/* Dormant, or somebody's own: no flag is ours. */
	if (!is_number(nfnl_attributes(message), NFTA_TABLE_FLAGS, 0))
		survey->is_foreign = true;
	return 0;
}

static int survey_chain(const struct nlmsghdr *message, void *context)
{
	struct attributes row = nfnl_attributes(message);
	struct survey *survey = context;
	struct attribute hook;

	if (!is_string(row, NFTA_CHAIN_TABLE, survey->table))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known_chains); i++) {
		const struct known_chain *known = &known_chains[i];

		if (!is_string(row, NFTA_CHAIN_NAME, known->name))
			continue;
		if (!find(row, NFTA_CHAIN_HOOK, &hook) ||
		    !is_number(attribute_inside(&hook), NFTA_HOOK_HOOKNUM, known->hook) ||
		    !is_number(attribute_inside(&hook), NFTA_HOOK_PRIORITY,
			       (uint32_t)known->priority) ||
		    !is_number(row, NFTA_CHAIN_POLICY, NF_ACCEPT) ||
		    !is_string(row, NFTA_CHAIN_TYPE, "filter"))
			survey->is_foreign = true;
		/* Of one priority, the chain made later is met first: scoped
		 * chains must come after marked_output. */
		if (known->name == marked_chain)
			survey->has_marked = true;
		else if (known->name != output_chain && !survey->has_marked)
			survey->is_foreign = true;
		return 0;
	}
	survey->is_foreign = true;
	return 0;
}

static int survey_set(const struct nlmsghdr *message, void *context)
{
	struct attributes row = nfnl_attributes(message);
	struct survey *survey = context;
	struct attribute flags;
	uint32_t value;

	if (find(row, NFTA_SET_FLAGS, &flags) && attribute_u32(&flags, &value) &&
	    value & NFT_SET_ANONYMOUS)
		return 0; /* it goes with its rule */
	for (size_t i = 0; i < ARRAY_SIZE(known_sets); i++)
		if (is_string(row, NFTA_SET_NAME, known_sets[i])) {
			survey->has_set[i] = true;
			return 0;
		}
	survey->is_foreign = true;
	return 0;
}

static int survey_other(const struct nlmsghdr *message, void *context)
{
	struct survey *survey = context;

	(void)message;
	survey->is_foreign = true;
	return 0;
}

/* Looks at the table. What cannot be found out counts as foreign: replacing works
 * on anything. Nobody has to hold still meanwhile: if what was seen is no longer
 * so, the kernel refuses the transaction made for it. */
static void survey_all(struct nfnl *nfnl, struct survey *survey)
{
	const struct {
		struct nfnl_query query;
		nfnl_on_message *on_message;
	} asked[] = {
		{{.type = NFT_MSG_GETTABLE,
		  .is_single = true,
		  .names = {{NFTA_TABLE_NAME, survey->table}}},
		 survey_table},
		{{.type = NFT_MSG_GETCHAIN}, survey_chain},
		{{.type = NFT_MSG_GETSET, .names = {{NFTA_SET_TABLE, survey->table}}},
		 survey_set},
		{{.type = NFT_MSG_GETOBJ, .names = {{NFTA_OBJ_TABLE, survey->table}}},
		 survey_other},
		{{.type = NFT_MSG_GETFLOWTABLE,
		  .names = {{NFTA_FLOWTABLE_TABLE, survey->table}}},
		 survey_other},
	};

	for (size_t i = 0; i < ARRAY_SIZE(asked) && !survey->is_foreign; i++) {
		struct nfnl_query query = asked[i].query;
		struct diag ignored = {0};
		bool is_interrupted = false;
		int failed = 0;

		query.family = NFPROTO_INET;
		if (nfnl_ask(nfnl, &query, asked[i].on_message, survey, &is_interrupted,
			     &failed, &ignored) != 0 ||
		    is_interrupted || (failed && failed != ENOENT))
			survey->is_foreign = true;
		if (i == 0 && failed == ENOENT)
			return;
	}
}

/* --- the transaction ----------------------------------------------------------- */

static void put_table(struct nfnl_batch *batch, const char *table)
{
	nfnl_batch_add(batch, NFT_MSG_NEWTABLE, NFPROTO_INET, NLM_F_CREATE);
	nfnl_put_string(batch, NFTA_TABLE_NAME, table);
	nfnl_put_u32(batch, NFTA_TABLE_FLAGS, 0);
}

/* Deletes the table, whatever it is, and one that is not there too. */
static void put_deletion(struct nfnl_batch *batch, const char *table)
{
	/* Without flags, so that a table that is there is left as it is, for
	 * the message after this to delete; a dormant one too. */
	nfnl_batch_add(batch, NFT_MSG_NEWTABLE, NFPROTO_INET, NLM_F_CREATE);
	nfnl_put_string(batch, NFTA_TABLE_NAME, table);
	nfnl_batch_add(batch, NFT_MSG_DELTABLE, NFPROTO_INET, 0);
	nfnl_put_string(batch, NFTA_TABLE_NAME, table);
}

/* Takes every rule and set out of a table of ours. */
static void put_flush(struct nfnl_batch *batch, const struct survey *survey)
{
	nfnl_batch_add(batch, NFT_MSG_DELRULE, NFPROTO_INET, 0);
	nfnl_put_string(batch, NFTA_RULE_TABLE, survey->table);
	for (size_t i = 0; i < ARRAY_SIZE(known_sets); i++) {
		if (!survey->has_set[i])
			continue;
		nfnl_batch_add(batch, NFT_MSG_DELSET, NFPROTO_INET, 0);
		nfnl_put_string(batch, NFTA_SET_TABLE, survey->table);
		nfnl_put_string(batch, NFTA_SET_NAME, known_sets[i]);
	}
}

static void put_chain(struct nfnl_batch *batch, const char *table,
		      const struct known_chain *chain)
{
	struct nlattr *hook;

	nfnl_batch_add(batch, NFT_MSG_NEWCHAIN, NFPROTO_INET, NLM_F_CREATE);
	nfnl_put_string(batch, NFTA_CHAIN_TABLE, table);
	nfnl_put_string(batch, NFTA_CHAIN_NAME, chain->name);
	nfnl_put_string(batch, NFTA_CHAIN_TYPE, "filter");
	nfnl_put_u32(batch, NFTA_CHAIN_POLICY, NF_ACCEPT);
	hook = nfnl_nest(batch, NFTA_CHAIN_HOOK);
	nfnl_put_u32(batch, NFTA_HOOK_HOOKNUM, chain->hook);
	nfnl_put_u32(batch, NFTA_HOOK_PRIORITY, (uint32_t)chain->priority);
	nfnl_nest_end(batch, hook);
}

static void put_data(struct nfnl_batch *batch, uint16_t type, uint32_t bytes)
{
	struct nlattr *nest = nfnl_nest(batch, type);

	nfnl_put_bytes(batch, NFTA_DATA_VALUE, &bytes, sizeof(bytes));
	nfnl_nest_end(batch, nest);
}

/* The ends of a range are elements of their own, the second one past it; a set
 * that does not begin at 0 begins with an end there. This is how nft fills any
 * set of intervals. `batch` may be NULL, to count. */
static uint32_t put_elements(struct nfnl_batch *batch, const struct subjects *subjects)
{
	uint32_t count = 0;

	for (size_t i = 0; i <= subjects->count; i++) {
		const struct subject_range *range = &subjects->ranges[i ? i - 1 : 0];
		uint32_t keys[2] = {range->first, range->last + 1};

		if (i == 0)
			keys[1] = 0;
		for (uint32_t end = i == 0; end < 2; end++) {
			struct nlattr *element;

			count++;
			if (!batch)
				continue;
			element = nfnl_nest(batch, (uint16_t)count);
			if (end)
				nfnl_put_u32(batch, NFTA_SET_ELEM_FLAGS,
					     NFT_SET_ELEM_INTERVAL_END);
			put_data(batch, NFTA_SET_ELEM_KEY, htonl(keys[end]));
			nfnl_nest_end(batch, element);
		}
	}
	return count;
}

static void put_set(struct nfnl_batch *batch, const char *table,
		    const struct subjects *subjects)
{
	struct nlattr *nest;

	nfnl_batch_add(batch, NFT_MSG_NEWSET, NFPROTO_INET, NLM_F_CREATE | NLM_F_EXCL);
	nfnl_put_string(batch, NFTA_SET_TABLE, table);
	nfnl_put_string(batch, NFTA_SET_NAME, subjects_set);
	nfnl_put_u32(batch, NFTA_SET_FLAGS, NFT_SET_CONSTANT | NFT_SET_INTERVAL);
	nfnl_put_u32(batch, NFTA_SET_KEY_TYPE, GUARD_TYPE_UID);
	nfnl_put_u32(batch, NFTA_SET_KEY_LEN, sizeof(uint32_t));
	nfnl_put_u32(batch, NFTA_SET_ID, 1);
	nest = nfnl_nest(batch, NFTA_SET_DESC);
	nfnl_put_u32(batch, NFTA_SET_DESC_SIZE, put_elements(NULL, subjects));
	nfnl_nest_end(batch, nest);

	nfnl_batch_add(batch, NFT_MSG_NEWSETELEM, NFPROTO_INET, NLM_F_CREATE);
	nfnl_put_string(batch, NFTA_SET_ELEM_LIST_TABLE, table);
	nfnl_put_string(batch, NFTA_SET_ELEM_LIST_SET, subjects_set);
	nfnl_put_u32(batch, NFTA_SET_ELEM_LIST_SET_ID, 1);
	nest = nfnl_nest(batch, NFTA_SET_ELEM_LIST_ELEMENTS);
	put_elements(batch, subjects);
	nfnl_nest_end(batch, nest);
}

/* --- rules --------------------------------------------------------------------- */

struct expression {
	struct nlattr *list, *data;
};

static struct expression start_expression(struct nfnl_batch *batch, const char *name)
{
	struct expression started;

	started.list = nfnl_nest(batch, NFTA_LIST_ELEM);
	nfnl_put_string(batch, NFTA_EXPR_NAME, name);
	started.data = nfnl_nest(batch, NFTA_EXPR_DATA);
	return started;
}

static void end_expression(struct nfnl_batch *batch, const struct expression *started)
{
	nfnl_nest_end(batch, started->data);
	nfnl_nest_end(batch, started->list);
}

/* An expression whose attributes are numbers alone. */
static void put_numbers(struct nfnl_batch *batch, const char *name,
			const uint32_t (*pairs)[2], size_t count)
{
	struct expression started = start_expression(batch, name);

	for (size_t i = 0; i < count; i++)
		nfnl_put_u32(batch, (uint16_t)pairs[i][0], pairs[i][1]);
	end_expression(batch, &started);
}

/* counter reject with icmpx admin-prohibited */
static void put_verdict(struct nfnl_batch *batch)
{
	struct expression started;

	put_numbers(batch, "counter", NULL, 0);
	started = start_expression(batch, "reject");
	nfnl_put_u32(batch, NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	nfnl_put_u8(batch, NFTA_REJECT_ICMP_CODE, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
	end_expression(batch, &started);
}

static struct nlattr *start_rule(struct nfnl_batch *batch, const char *table,
				 const char *chain)
{
	nfnl_batch_add(batch, NFT_MSG_NEWRULE, NFPROTO_INET, NLM_F_CREATE | NLM_F_APPEND);
	nfnl_put_string(batch, NFTA_RULE_TABLE, table);
	nfnl_put_string(batch, NFTA_RULE_CHAIN, chain);
	return nfnl_nest(batch, NFTA_RULE_EXPRESSIONS);
}

/* The owner of the packet's socket, in register 1. */
static void put_skuid(struct nfnl_batch *batch)
{
	static const uint32_t meta[][2] = {{NFTA_META_KEY, NFT_META_SKUID},
					   {NFTA_META_DREG, NFT_REG_1}};

	put_numbers(batch, "meta", meta, ARRAY_SIZE(meta));
}

/* Register 1 in network order, in which bytes compare as numbers do. */
static void put_network_order(struct nfnl_batch *batch)
{
	static const uint32_t order[][2] = {{NFTA_BYTEORDER_SREG, NFT_REG_1},
					    {NFTA_BYTEORDER_DREG, NFT_REG_1},
					    {NFTA_BYTEORDER_OP, NFT_BYTEORDER_HTON},
					    {NFTA_BYTEORDER_LEN, 4},
					    {NFTA_BYTEORDER_SIZE, 4}};

	put_numbers(batch, "byteorder", order, ARRAY_SIZE(order));
}

/* Compares register 1. */
static void put_comparison(struct nfnl_batch *batch, enum nft_cmp_ops operation,
			   uint32_t bytes)
{
	struct expression started = start_expression(batch, "cmp");

	nfnl_put_u32(batch, NFTA_CMP_SREG, NFT_REG_1);
	nfnl_put_u32(batch, NFTA_CMP_OP, operation);
	put_data(batch, NFTA_CMP_DATA, bytes);
	end_expression(batch, &started);
}

/* meta skuid @subjects */
static void put_subjects_rule(struct nfnl_batch *batch, const char *table)
{
	struct nlattr *rule = start_rule(batch, table, output_chain);
	struct expression started;

	put_skuid(batch);
	put_network_order(batch);
	started = start_expression(batch, "lookup");
	nfnl_put_u32(batch, NFTA_LOOKUP_SREG, NFT_REG_1);
	nfnl_put_string(batch, NFTA_LOOKUP_SET, subjects_set);
	nfnl_put_u32(batch, NFTA_LOOKUP_SET_ID, 1);
	end_expression(batch, &started);
	put_verdict(batch);
	nfnl_nest_end(batch, rule);
}

/* meta skuid UID, or FIRST-LAST: without a set, see policy/ruleset.h. */
static void put_range_rule(struct nfnl_batch *batch, const char *table,
			   const struct subject_range *range)
{
	struct nlattr *rule = start_rule(batch, table, marked_chain);

	put_skuid(batch);
	if (range->first == range->last) {
		put_comparison(batch, NFT_CMP_EQ, range->first);
	} else {
		put_network_order(batch);
		put_comparison(batch, NFT_CMP_GTE, htonl(range->first));
		put_comparison(batch, NFT_CMP_LTE, htonl(range->last));
	}
	put_verdict(batch);
	nfnl_nest_end(batch, rule);
}

/* ct mark & MARK_OURS_MASK == MARK_OURS; a mark is in host order. */
static void put_marked_rule(struct nfnl_batch *batch, const char *table)
{
	static const uint32_t ct[][2] = {{NFTA_CT_KEY, NFT_CT_MARK},
					 {NFTA_CT_DREG, NFT_REG_1}};
	struct nlattr *rule = start_rule(batch, table, marked_chain);
	struct expression started;

	put_numbers(batch, "ct", ct, ARRAY_SIZE(ct));
	started = start_expression(batch, "bitwise");
	nfnl_put_u32(batch, NFTA_BITWISE_SREG, NFT_REG_1);
	nfnl_put_u32(batch, NFTA_BITWISE_DREG, NFT_REG_1);
	nfnl_put_u32(batch, NFTA_BITWISE_OP, NFT_BITWISE_BOOL);
	nfnl_put_u32(batch, NFTA_BITWISE_LEN, 4);
	put_data(batch, NFTA_BITWISE_MASK, MARK_OURS_MASK);
	put_data(batch, NFTA_BITWISE_XOR, 0);
	end_expression(batch, &started);
	put_comparison(batch, NFT_CMP_EQ, MARK_OURS);
	put_verdict(batch);
	nfnl_nest_end(batch, rule);
}

/* Commits the guard over what `survey` says is there. */
static int load(struct nfnl *nfnl, const struct survey *survey,
		const struct subjects *subjects, struct diag *diag)
{
	char buffer[GUARD_BATCH_SIZE] __attribute__((aligned(8)));
	const char *table = survey->table;
	struct nfnl_batch batch;

	nfnl_batch_start(&batch, nfnl, buffer, sizeof(buffer));
	if (survey->is_foreign)
		put_deletion(&batch, table);
	put_table(&batch, table);
	/* output and marked_output; the order is policy/ruleset.h's. */
	put_chain(&batch, table, &known_chains[0]);
	put_chain(&batch, table, &known_chains[1]);
	if (survey->has_table && !survey->is_foreign)
		put_flush(&batch, survey);
	put_set(&batch, table, subjects);
	put_subjects_rule(&batch, table);
	for (size_t i = 0; i < subjects->count; i++)
		put_range_rule(&batch, table, &subjects->ranges[i]);
	put_marked_rule(&batch, table);
	return nfnl_batch_commit(&batch, nfnl, table, diag);
}

static int explain(int error, const char *table, const struct diag *cause,
		   struct diag *diag)
{
	char place[DIAG_PLACE_SIZE];

	snprintf(place, sizeof(place), "table inet %s", table);
	if (error == -EPERM)
		return diag_fail(diag, EPERM, place,
				 "the deny guard was not loaded: another process owns "
				 "the table, or CAP_NET_ADMIN is missing");
	diag_fail(diag, 0, place, "the deny guard was not loaded: %s", cause->text);
	return error;
}

int guard_load(const char *table, const struct subjects *subjects, struct diag *diag)
{
	OWN(nfnl_close) struct nfnl nfnl = {0};
	struct survey survey = {.table = table};
	struct diag cause = {0};
	int error;

	if (!*table || strlen(table) >= NFT_TABLE_MAXNAMELEN)
		return diag_usage(diag, "table", "not a table's name");
	if (!subjects->count)
		return diag_usage(diag, "subjects", "none: this guard would deny nobody");
	error = nfnl_open(&nfnl, diag);
	if (error)
		return error;
	survey_all(&nfnl, &survey);
	error = load(&nfnl, &survey, subjects, &cause);
	if (error && !survey.is_foreign) {
		/* It is not as it was seen: replacing needs it to be nothing. */
		survey.is_foreign = true;
		cause = (struct diag){0};
		error = load(&nfnl, &survey, subjects, &cause);
	}
	return error ? explain(error, table, &cause, diag) : 0;
}
