// SPDX-License-Identifier: GPL-2.0-or-later
// The messages of one table, sorted into what they describe.
#include "policy/kernel/kparse.h"

#include <errno.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

/* A message, checked against the end of what was received. */
struct message {
	uint8_t kind; /* NFT_MSG_NEW... */
	uint8_t family;
	struct attributes row;
};

static int malformed(const struct kparse *parse, const char *what, struct diag *diag)
{
	return diag_fail(diag, EBADMSG, parse->table ? parse->table : "nf_tables",
			 "the kernel's dump: %s", what);
}

/* Takes the next message; false at the end, and where what follows is none. */
static bool next_message(struct bytes *rest, struct message *ret_message)
{
	size_t headers = ATTRIBUTE_ALIGN(sizeof(struct nlmsghdr)) +
			 ATTRIBUTE_ALIGN(sizeof(struct nfgenmsg));
	struct nlmsghdr header;
	struct nfgenmsg generic;
	size_t step;

	if (rest->size < headers)
		return false;
	memcpy(&header, rest->data, sizeof(header));
	if (header.nlmsg_len < headers || header.nlmsg_len > rest->size ||
	    header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES)
		return false;
	memcpy(&generic, rest->data + ATTRIBUTE_ALIGN(sizeof(header)), sizeof(generic));
	*ret_message = (struct message){
		.kind = (uint8_t)(header.nlmsg_type & 0xff),
		.family = generic.nfgen_family,
		.row = {(const uint8_t *)rest->data + headers,
			header.nlmsg_len - headers},
	};
	step = ATTRIBUTE_ALIGN(header.nlmsg_len);
	if (step > rest->size)
		step = rest->size;
	rest->data += step;
	rest->size -= step;
	return true;
}

static bool find(struct attributes row, uint16_t type, struct attribute *ret_found)
{
	while (attribute_next(&row, ret_found))
		if (ret_found->type == type)
			return true;
	return false;
}

static const char *string_of(struct attributes row, uint16_t type)
{
	struct attribute found;

	return find(row, type, &found) ? attribute_string(&found) : NULL;
}

/* 0 where there is no such number. */
static uint32_t number_of(struct attributes row, uint16_t type)
{
	struct attribute found;
	uint32_t value = 0;

	if (find(row, type, &found) && !attribute_u32(&found, &value))
		value = 0;
	return value;
}

/* --- counting ------------------------------------------------------------------ */

static struct attributes element_list(struct attributes row)
{
	struct attribute list;

	if (!find(row, NFTA_SET_ELEM_LIST_ELEMENTS, &list))
		return (struct attributes){0};
	return attribute_inside(&list);
}

static int count_message(struct kparse *parse, const struct message *message,
			 struct diag *diag)
{
	struct attributes rest;
	struct attribute element;

	switch (message->kind) {
	case NFT_MSG_NEWTABLE:
		if (parse->table)
			return malformed(parse, "two tables", diag);
		parse->table = string_of(message->row, NFTA_TABLE_NAME);
		if (!parse->table)
			return malformed(parse, "a table without a name", diag);
		parse->family = message->family;
		parse->table_row = message->row;
		parse->table_flags = number_of(message->row, NFTA_TABLE_FLAGS);
		return 0;
	case NFT_MSG_NEWCHAIN:
		parse->chain_count++;
		return 0;
	case NFT_MSG_NEWSET:
		parse->set_count++;
		return 0;
	case NFT_MSG_NEWRULE:
		parse->rule_count++;
		return 0;
	case NFT_MSG_NEWOBJ:
		parse->object_count++;
		return 0;
	case NFT_MSG_NEWFLOWTABLE:
		parse->flowtable_count++;
		return 0;
	case NFT_MSG_NEWSETELEM:
		rest = element_list(message->row);
		while (attribute_next(&rest, &element))
			parse->element_count++;
		return rest.size ? malformed(parse, "a cut list of elements", diag) : 0;
	default:
		return malformed(parse, "a message of an unknown kind", diag);
	}
}

static int count_all(struct kparse *parse, struct bytes rest, struct diag *diag)
{
	struct message message;

	while (next_message(&rest, &message)) {
		int error = count_message(parse, &message, diag);

		if (error)
			return error;
	}
	if (rest.size)
		return malformed(parse, "what is no message", diag);
	if (!parse->table)
		return malformed(parse, "no table", diag);
	return 0;
}

static int allocate(struct kparse *parse, struct diag *diag)
{
	parse->sets = calloc(parse->set_count + 1, sizeof(*parse->sets));
	parse->chains = calloc(parse->chain_count + 1, sizeof(*parse->chains));
	parse->elements = calloc(parse->element_count + 1, sizeof(*parse->elements));
	parse->rules = calloc(parse->rule_count + 1, sizeof(*parse->rules));
	parse->objects = calloc(parse->object_count + 1, sizeof(*parse->objects));
	parse->flowtables =
		calloc(parse->flowtable_count + 1, sizeof(*parse->flowtables));
	if (!parse->sets || !parse->chains || !parse->elements || !parse->rules ||
	    !parse->objects || !parse->flowtables)
		return diag_no_memory(diag);
	parse->set_count = parse->chain_count = parse->element_count = 0;
	parse->rule_count = parse->object_count = parse->flowtable_count = 0;
	return 0;
}

/* --- what has a name ----------------------------------------------------------- */

static void read_chain(struct kparse_chain *chain, struct attributes row)
{
	uint32_t flags = number_of(row, NFTA_CHAIN_FLAGS);
	const char *type = string_of(row, NFTA_CHAIN_TYPE);
	struct attribute attribute;
	struct attributes inside = {0};

	chain->row = row;
	chain->number = KPARSE_NONE;
	chain->first = chain->last = KPARSE_NONE;
	chain->is_anonymous = flags & NFT_CHAIN_BINDING;
	chain->is_base = find(row, NFTA_CHAIN_HOOK, &attribute);
	if (chain->is_base)
		inside = attribute_inside(&attribute);
	chain->is_plain_base = chain->is_base && type && strcmp(type, "filter") == 0 &&
			       number_of(row, NFTA_CHAIN_POLICY) == NF_ACCEPT &&
			       (flags & ~(uint32_t)NFT_CHAIN_BASE) == 0 &&
			       !find(row, NFTA_CHAIN_COUNTERS, &attribute);
	while (attribute_next(&row, &attribute))
		if (attribute.type > NFTA_CHAIN_USERDATA)
			chain->is_plain_base = false;
	while (attribute_next(&inside, &attribute))
		if (attribute.type != NFTA_HOOK_HOOKNUM &&
		    attribute.type != NFTA_HOOK_PRIORITY)
			chain->is_plain_base = false;
}

static int take_named(struct kparse *parse, const struct message *message,
		      struct diag *diag)
{
	struct kparse_set *set;
	struct kparse_chain *chain;
	struct kparse_object *object;
	const char *name;

	switch (message->kind) {
	case NFT_MSG_NEWCHAIN:
		chain = &parse->chains[parse->chain_count];
		chain->made = parse->chain_count++;
		name = chain->name = string_of(message->row, NFTA_CHAIN_NAME);
		read_chain(chain, message->row);
		break;
	case NFT_MSG_NEWSET:
		set = &parse->sets[parse->set_count++];
		name = set->name = string_of(message->row, NFTA_SET_NAME);
		set->row = message->row;
		set->flags = number_of(message->row, NFTA_SET_FLAGS);
		set->number = KPARSE_NONE;
		set->first = set->last = KPARSE_NONE;
		break;
	case NFT_MSG_NEWOBJ:
		object = &parse->objects[parse->object_count++];
		name = object->name = string_of(message->row, NFTA_OBJ_NAME);
		object->type = number_of(message->row, NFTA_OBJ_TYPE);
		object->row = message->row;
		break;
	case NFT_MSG_NEWFLOWTABLE:
		object = &parse->flowtables[parse->flowtable_count++];
		name = object->name = string_of(message->row, NFTA_FLOWTABLE_NAME);
		object->row = message->row;
		break;
	default:
		return 0;
	}
	return name ? 0 : malformed(parse, "something without a name", diag);
}

static int compare_sets(const void *left, const void *right)
{
	const struct kparse_set *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int compare_chains(const void *left, const void *right)
{
	const struct kparse_chain *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int compare_objects(const void *left, const void *right)
{
	const struct kparse_object *a = left, *b = right;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return strcmp(a->name, b->name);
}

struct kparse_set *kparse_find_set(const struct kparse *parse, const char *name)
{
	struct kparse_set wanted = {.name = name};

	return bsearch(&wanted, parse->sets, parse->set_count, sizeof(wanted),
		       compare_sets);
}

struct kparse_chain *kparse_find_chain(const struct kparse *parse, const char *name)
{
	struct kparse_chain wanted = {.name = name};

	return bsearch(&wanted, parse->chains, parse->chain_count, sizeof(wanted),
		       compare_chains);
}

/* A hook and a priority in one number; the attributes are in the kernel's order. */
static uint64_t meeting_place(const struct kparse_chain *chain)
{
	struct attribute hook;

	if (!find(chain->row, NFTA_CHAIN_HOOK, &hook))
		return 0;
	return (uint64_t)number_of(attribute_inside(&hook), NFTA_HOOK_HOOKNUM) << 32 |
	       number_of(attribute_inside(&hook), NFTA_HOOK_PRIORITY);
}

static int compare_meeting(const void *left, const void *right)
{
	const struct kparse_chain *a = left, *b = right;
	uint64_t place_a = meeting_place(a), place_b = meeting_place(b);

	if (a->is_base != b->is_base)
		return a->is_base ? -1 : 1;
	if (place_a != place_b)
		return place_a < place_b ? -1 : 1;
	return a->made < b->made ? -1 : a->made > b->made;
}

/* Of base chains that meet the same packets, the older one meets them later. */
static void count_older(struct kparse *parse)
{
	qsort(parse->chains, parse->chain_count, sizeof(*parse->chains), compare_meeting);
	for (size_t i = 1; i < parse->chain_count && parse->chains[i].is_base; i++)
		if (meeting_place(&parse->chains[i - 1]) ==
		    meeting_place(&parse->chains[i]))
			parse->chains[i].older = parse->chains[i - 1].older + 1;
}

static int sort_names(struct kparse *parse, struct diag *diag)
{
	count_older(parse);
	qsort(parse->sets, parse->set_count, sizeof(*parse->sets), compare_sets);
	qsort(parse->chains, parse->chain_count, sizeof(*parse->chains), compare_chains);
	qsort(parse->objects, parse->object_count, sizeof(*parse->objects),
	      compare_objects);
	qsort(parse->flowtables, parse->flowtable_count, sizeof(*parse->flowtables),
	      compare_objects);
	for (size_t i = 1; i < parse->set_count; i++)
		if (compare_sets(&parse->sets[i - 1], &parse->sets[i]) == 0)
			return malformed(parse, "two sets of one name", diag);
	for (size_t i = 1; i < parse->chain_count; i++)
		if (compare_chains(&parse->chains[i - 1], &parse->chains[i]) == 0)
			return malformed(parse, "two chains of one name", diag);
	return 0;
}

/* --- what belongs to it -------------------------------------------------------- */

static void append(struct kparse_part *parts, size_t index, size_t *first, size_t *last,
		   size_t *count)
{
	if (*last == KPARSE_NONE)
		*first = index;
	else
		parts[*last].next = index;
	*last = index;
	++*count;
}

static int take_rule(struct kparse *parse, const struct message *message,
		     struct diag *diag)
{
	const char *name = string_of(message->row, NFTA_RULE_CHAIN);
	struct kparse_chain *chain = name ? kparse_find_chain(parse, name) : NULL;
	size_t index = parse->rule_count++;
	struct kparse_part *rule = &parse->rules[index];
	struct attribute handle;

	if (!chain)
		return malformed(parse, "a rule of no chain", diag);
	rule->row = message->row;
	rule->next = KPARSE_NONE;
	if (find(message->row, NFTA_RULE_HANDLE, &handle) &&
	    !attribute_u64(&handle, &rule->handle))
		return malformed(parse, "a rule's handle", diag);
	append(parse->rules, index, &chain->first, &chain->last, &chain->count);
	return 0;
}

static int take_elements(struct kparse *parse, const struct message *message,
			 struct diag *diag)
{
	const char *name = string_of(message->row, NFTA_SET_ELEM_LIST_SET);
	struct kparse_set *set = name ? kparse_find_set(parse, name) : NULL;
	struct attributes rest = element_list(message->row);
	struct attribute element;

	if (!set)
		return malformed(parse, "elements of no set", diag);
	while (attribute_next(&rest, &element)) {
		size_t index = parse->element_count++;

		parse->elements[index].row = attribute_inside(&element);
		parse->elements[index].next = KPARSE_NONE;
		append(parse->elements, index, &set->first, &set->last, &set->count);
	}
	return 0;
}

static int take_all(struct kparse *parse, struct bytes messages, struct diag *diag)
{
	struct bytes rest = messages;
	struct message message;
	int error = 0;

	while (!error && next_message(&rest, &message))
		error = take_named(parse, &message, diag);
	if (!error)
		error = sort_names(parse, diag);
	rest = messages;
	while (!error && next_message(&rest, &message)) {
		if (message.kind == NFT_MSG_NEWRULE)
			error = take_rule(parse, &message, diag);
		else if (message.kind == NFT_MSG_NEWSETELEM)
			error = take_elements(parse, &message, diag);
	}
	return error;
}

void kparse_release(struct kparse *parse)
{
	free(parse->sets);
	free(parse->chains);
	free(parse->elements);
	free(parse->rules);
	free(parse->objects);
	free(parse->flowtables);
	*parse = (struct kparse){0};
}

int kparse_read(const struct bytes *messages, struct kparse *ret_parse, struct diag *diag)
{
	OWN(kparse_release) struct kparse parse = {0};
	int error = count_all(&parse, *messages, diag);

	if (!error)
		error = allocate(&parse, diag);
	if (!error)
		error = take_all(&parse, *messages, diag);
	if (error)
		return error;
	*ret_parse = parse;
	parse = (struct kparse){0};
	return 0;
}
