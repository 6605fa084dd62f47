// SPDX-License-Identifier: GPL-2.0-or-later
// Whole dumps of tables: the kernel's messages, of one generation.
#include "policy/kernel/kdump.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

/* Pauses grow from 1 ms by half; all tries together wait for about two seconds. */
#define KDUMP_TRIES 16
#define KDUMP_PAUSE_NS 1000000L

/* Not a value of errno: the dump was of two rulesets; read it again. */
#define KDUMP_AGAIN 1

struct collector {
	struct bytes messages;
	size_t capacity;
	const char *table; /* messages of others are left out */
	bool is_no_memory, is_too_much;
};

static void release_collector(struct collector *collector)
{
	own_bytes(&collector->messages);
}

static bool is_of_table(const struct nlmsghdr *message, const char *table)
{
	struct attributes rest = nfnl_attributes(message);
	struct attribute attribute;

	/* It is the first attribute, number 1, of every kind of message. */
	while (attribute_next(&rest, &attribute))
		if (attribute.type == NFTA_CHAIN_TABLE) {
			const char *name = attribute_string(&attribute);

			return name && strcmp(name, table) == 0;
		}
	return false;
}

static int keep(const struct nlmsghdr *message, void *context)
{
	struct collector *collector = context;
	struct bytes *messages = &collector->messages;
	size_t size = ATTRIBUTE_ALIGN(message->nlmsg_len);

	if (!is_of_table(message, collector->table))
		return 0;
	if (messages->size + size > KDUMP_BYTES_MAX) {
		collector->is_too_much = true;
		return -EFBIG;
	}
	if (messages->size + size > collector->capacity) {
		size_t capacity = 2 * collector->capacity + size + 65536;
		char *grown = realloc(messages->data, capacity);

		if (!grown) {
			collector->is_no_memory = true;
			return -ENOMEM;
		}
		messages->data = grown;
		collector->capacity = capacity;
	}
	memset(messages->data + messages->size, 0, size);
	memcpy(messages->data + messages->size, message, message->nlmsg_len);
	messages->size += size;
	return 0;
}

/* One dump of the several. 0, KDUMP_AGAIN or -errno; `*ret_failed` is what the
 * kernel answered. */
static int ask(struct nfnl *nfnl, const struct nfnl_query *query,
	       struct collector *collector, int *ret_failed, struct diag *diag)
{
	bool is_interrupted = false;
	int error =
		nfnl_ask(nfnl, query, keep, collector, &is_interrupted, ret_failed, diag);

	if (collector->is_no_memory)
		return diag_no_memory(diag);
	if (collector->is_too_much)
		return diag_fail(diag, EFBIG, collector->table,
				 "a table of more than %lu MiB",
				 KDUMP_BYTES_MAX / (1024 * 1024));
	if (error)
		return error;
	/* What was there when it was listed is gone: somebody commits. */
	if (is_interrupted || *ret_failed == EINTR || *ret_failed == EAGAIN)
		return KDUMP_AGAIN;
	return 0;
}

static int ask_dump(struct nfnl *nfnl, const struct nfnl_query *query,
		    struct collector *collector, struct diag *diag)
{
	int failed, error = ask(nfnl, query, collector, &failed, diag);

	if (error)
		return error;
	if (failed == ENOENT)
		return KDUMP_AGAIN;
	if (failed)
		return diag_fail(diag, failed, collector->table, "the kernel's dump");
	return 0;
}

/* The string in attribute `type` of a message, NULL if there is none. */
static const char *name_in(const struct nlmsghdr *message, uint16_t type)
{
	struct attributes rest = nfnl_attributes(message);
	struct attribute attribute;

	while (attribute_next(&rest, &attribute))
		if (attribute.type == type)
			return attribute_string(&attribute);
	return NULL;
}

/* Asks `query` once for every message that is already there from `first` to
 * `end`, with the name in it. The messages may move while more are added, so the
 * name is copied. */
static int ask_for_each(struct nfnl *nfnl, struct nfnl_query query, uint16_t name_type,
			size_t first, size_t end, struct collector *collector,
			struct diag *diag)
{
	size_t step;

	for (size_t at = first; at < end; at += step) {
		const struct nlmsghdr *message =
			(const void *)(collector->messages.data + at);
		char name[NFT_NAME_MAXLEN + 1];
		const char *found = name_in(message, name_type);
		int error;

		step = ATTRIBUTE_ALIGN(message->nlmsg_len);
		if (!found || strlen(found) >= sizeof(name))
			return diag_fail(diag, EBADMSG, collector->table,
					 "a chain or set without a name");
		strcpy(name, found);
		query.names[1].value = name;
		error = ask_dump(nfnl, &query, collector, diag);
		if (error)
			return error;
	}
	return 0;
}

static int read_table(struct nfnl *nfnl, uint8_t family, struct collector *collector,
		      struct diag *diag)
{
	const char *table = collector->table;
	const struct nfnl_query get_table = {.type = NFT_MSG_GETTABLE,
					     .family = family,
					     .is_single = true,
					     .names = {{NFTA_TABLE_NAME, table}}};
	const struct nfnl_query chains = {.type = NFT_MSG_GETCHAIN, .family = family};
	const struct nfnl_query sets = {.type = NFT_MSG_GETSET,
					.family = family,
					.names = {{NFTA_SET_TABLE, table}}};
	const struct nfnl_query rules = {
		.type = NFT_MSG_GETRULE,
		.family = family,
		.names = {{NFTA_RULE_TABLE, table}, {NFTA_RULE_CHAIN, NULL}}};
	const struct nfnl_query elements = {.type = NFT_MSG_GETSETELEM,
					    .family = family,
					    .names = {{NFTA_SET_ELEM_LIST_TABLE, table},
						      {NFTA_SET_ELEM_LIST_SET, NULL}}};
	const struct nfnl_query objects = {.type = NFT_MSG_GETOBJ,
					   .family = family,
					   .names = {{NFTA_OBJ_TABLE, table}}};
	const struct nfnl_query flowtables = {.type = NFT_MSG_GETFLOWTABLE,
					      .family = family,
					      .names = {{NFTA_FLOWTABLE_TABLE, table}}};
	size_t first_chain, first_set, end;
	int failed, error = ask(nfnl, &get_table, collector, &failed, diag);

	if (error || failed == ENOENT)
		return error;
	if (failed)
		return diag_fail(diag, failed, table, "the kernel's answer");
	first_chain = collector->messages.size;
	error = ask_dump(nfnl, &chains, collector, diag);
	first_set = collector->messages.size;
	if (!error)
		error = ask_dump(nfnl, &sets, collector, diag);
	end = collector->messages.size;
	if (!error)
		error = ask_for_each(nfnl, elements, NFTA_SET_NAME, first_set, end,
				     collector, diag);
	if (!error)
		error = ask_for_each(nfnl, rules, NFTA_CHAIN_NAME, first_chain, first_set,
				     collector, diag);
	if (!error)
		error = ask_dump(nfnl, &objects, collector, diag);
	if (!error)
		error = ask_dump(nfnl, &flowtables, collector, diag);
	return error;
}

/* --- whole or not at all ------------------------------------------------------- */

/* Runs `read` between two looks at the generation until both are the same. */
static int read_whole(struct nfnl *nfnl,
		      int (*read)(struct nfnl *nfnl, void *context, struct diag *diag),
		      void *context, uint32_t *ret_generation, struct diag *diag)
{
	struct timespec pause = {.tv_nsec = KDUMP_PAUSE_NS};

	for (int try = 0; try < KDUMP_TRIES; try++) {
		uint32_t before, after;
		int error;

		if (try > 0) {
			/* Cut short by a signal: only an earlier next try. */
			nanosleep(&pause, NULL);
			pause.tv_nsec += pause.tv_nsec / 2;
		}
		error = nfnl_generation(nfnl, &before, diag);
		if (!error)
			error = read(nfnl, context, diag);
		if (error == KDUMP_AGAIN)
			continue;
		if (!error)
			error = nfnl_generation(nfnl, &after, diag);
		if (error)
			return error;
		if (before == after) {
			*ret_generation = after;
			return 0;
		}
	}
	return diag_fail(diag, 0, "nf_tables",
			 "the ruleset kept changing while it was read (%d tries); "
			 "see who loads rules, and try again",
			 KDUMP_TRIES);
}

struct one_table {
	uint8_t family;
	const char *table;
	struct bytes messages;
};

static int read_one(struct nfnl *nfnl, void *context, struct diag *diag)
{
	struct one_table *one = context;
	OWN(release_collector) struct collector collector = {.table = one->table};
	int error = read_table(nfnl, one->family, &collector, diag);

	own_bytes(&one->messages);
	if (!error)
		one->messages = take_bytes(&collector.messages);
	return error;
}

int kdump_table(struct nfnl *nfnl, uint8_t family, const char *table,
		struct bytes *ret_messages, uint32_t *ret_generation, struct diag *diag)
{
	struct one_table one = {.family = family, .table = table};
	int error = read_whole(nfnl, read_one, &one, ret_generation, diag);

	if (error) {
		own_bytes(&one.messages);
		return error;
	}
	*ret_messages = take_bytes(&one.messages);
	return 0;
}

/* --- all tables ---------------------------------------------------------------- */

void kdump_names_release(struct kdump_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i].name);
	free(names->names);
	*names = (struct kdump_names){0};
}

static int keep_name(const struct nlmsghdr *message, void *context)
{
	struct kdump_names *names = context;
	const struct nfgenmsg *generic = mnl_nlmsg_get_payload(message);
	const char *name = name_in(message, NFTA_TABLE_NAME);
	struct kdump_name *grown;

	if (!name)
		return -EBADMSG;
	grown = reallocarray(names->names, names->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	names->names = grown;
	grown[names->count] = (struct kdump_name){.family = generic->nfgen_family,
						  .name = strdup(name)};
	if (!grown[names->count].name)
		return -ENOMEM;
	names->count++;
	return 0;
}

struct every_table {
	const struct kdump_all *all;
	struct kdump_names names;
	struct bytes *messages; /* one for each name */
};

static void release_every_table(struct every_table *every)
{
	for (size_t i = 0; every->messages && i < every->names.count; i++)
		own_bytes(&every->messages[i]);
	free(every->messages);
	every->messages = NULL;
	kdump_names_release(&every->names);
}

static int read_names(struct nfnl *nfnl, struct kdump_names *names, struct diag *diag)
{
	const struct nfnl_query query = {.type = NFT_MSG_GETTABLE};
	bool is_interrupted;
	int failed, error = nfnl_ask(nfnl, &query, keep_name, names, &is_interrupted,
				     &failed, diag);

	if (error || failed)
		return diag_fail(diag, failed ? failed : -error, "nf_tables",
				 "the list of tables");
	return is_interrupted ? KDUMP_AGAIN : 0;
}

static int read_every(struct nfnl *nfnl, void *context, struct diag *diag)
{
	struct every_table *every = context;
	const struct kdump_all *all = every->all;
	int error;

	release_every_table(every);
	error = read_names(nfnl, &every->names, diag);
	if (error)
		return error;
	every->messages = calloc(every->names.count + 1, sizeof(*every->messages));
	if (!every->messages)
		return diag_no_memory(diag);
	for (size_t i = 0; !error && i < every->names.count; i++) {
		const struct kdump_name *name = &every->names.names[i];
		OWN(release_collector) struct collector collector = {.table = name->name};

		if (all->is_wanted &&
		    !all->is_wanted(name->family, name->name, all->context))
			continue;
		error = read_table(nfnl, name->family, &collector, diag);
		/* It was listed a moment ago. */
		if (!error && !collector.messages.size)
			error = KDUMP_AGAIN;
		if (!error)
			every->messages[i] = take_bytes(&collector.messages);
	}
	return error;
}

int kdump_tables(struct nfnl *nfnl, const struct kdump_all *all, uint32_t *ret_generation,
		 struct diag *diag)
{
	OWN(release_every_table) struct every_table every = {.all = all};
	int error = read_whole(nfnl, read_every, &every, ret_generation, diag);

	for (size_t i = 0; !error && i < every.names.count; i++)
		if (every.messages[i].size)
			error = all->on_table(every.names.names[i].family,
					      every.names.names[i].name,
					      &every.messages[i], all->context, diag);
	return error;
}
