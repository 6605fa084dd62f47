// SPDX-License-Identifier: GPL-2.0-or-later
// Listing a big table chain by chain.
#include "policy/kernel/chainwise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/netfilter/nf_tables.h>

#include "common/buffer.h"
#include "policy/kernel/kparse.h"
#include "policy/kernel/listing.h"
#include "policy/pieces.h"

/* What listing one more chain costs, in rules: the command itself; and all sets are
 * dumped again, with their elements. */
#define CHAINWISE_CHAIN_COST 16

struct plan {
	const char *table;
	struct kparse parse;
	const char **chains;     /* in the kernel's order */
	struct bytes *texts;     /* the commands */
	size_t count, set_count; /* of commands; of named sets */
};

static void release_plan(struct plan *plan)
{
	for (size_t i = 0; plan->texts && i < plan->count; i++)
		own_bytes(&plan->texts[i]);
	free(plan->texts);
	free(plan->chains);
	kparse_release(&plan->parse);
}

/* A word of nft's language; if it is one of its own, the command is refused. */
static bool is_plain(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_.-";

	return name[0] && strchr(letters, name[0]) && !name[strspn(name, more)];
}

static bool is_worth_it(const struct kparse *parse, size_t rules_min)
{
	size_t chains = parse->chain_count,
	       each = parse->set_count + parse->element_count + CHAINWISE_CHAIN_COST;

	if (!chains)
		return false;
	return !rules_min || (chains > 1 && parse->rule_count >= rules_min &&
			      parse->rule_count / chains >= each);
}

/* Names that can be put into commands, chains in the kernel's order. */
static bool take_names(struct plan *plan)
{
	const struct kparse *parse = &plan->parse;

	for (size_t i = 0; i < parse->chain_count; i++) {
		const struct kparse_chain *chain = &parse->chains[i];

		if (chain->is_anonymous || !is_plain(chain->name) ||
		    chain->made >= parse->chain_count)
			return false;
		plan->chains[chain->made] = chain->name;
	}
	for (size_t i = 0; i < parse->set_count; i++) {
		if (parse->sets[i].flags & NFT_SET_ANONYMOUS)
			continue;
		if (!is_plain(parse->sets[i].name))
			return false;
		plan->set_count++;
	}
	return true;
}

static int put_command(struct plan *plan, const char *what, const char *name,
		       struct diag *diag)
{
	OWN(own_buffer) struct buffer text = {0};

	if (!plan->count)
		buffer_print(&text, "list table inet %s; ", plan->table);
	buffer_print(&text, "list %s inet %s %s\n", what, plan->table, name);
	return buffer_take(&text, &plan->texts[plan->count++], diag);
}

static int put_commands(struct plan *plan, struct diag *diag)
{
	const struct kparse *parse = &plan->parse;
	int error = 0;

	for (size_t i = 0; !error && i < parse->chain_count; i++)
		error = put_command(plan, "chain", plan->chains[i], diag);
	for (size_t i = 0; !error && i < parse->set_count; i++) {
		const struct kparse_set *set = &parse->sets[i];

		if (!(set->flags & NFT_SET_ANONYMOUS))
			error = put_command(plan,
					    set->flags & (NFT_SET_MAP | NFT_SET_OBJECT)
						    ? "map"
						    : "set",
					    set->name, diag);
	}
	return error;
}

static int list_pieces(struct plan *plan, struct bytes *ret_listing, struct diag *diag)
{
	OWN(own_bytes) struct bytes output = {0};
	struct pieces pieces = {
		.table = plan->table,
		.chains = plan->chains,
		.chain_count = plan->parse.chain_count,
		.set_count = plan->set_count,
		.rule_count = plan->parse.rule_count,
	};
	int error = put_commands(plan, diag);

	if (!error)
		error = listing_run(plan->texts, plan->count, &output, diag);
	kparse_release(&plan->parse);
	return error ? error : pieces_join(&pieces, &output, ret_listing, diag);
}

int chainwise_list(const char *table, const struct bytes *messages, size_t rules_min,
		   struct bytes *ret_listing, struct diag *diag)
{
	OWN(release_plan) struct plan plan = {.table = table};
	struct diag ignored = {0};
	int error = kparse_read(messages, &plan.parse, &ignored);

	if (!error && !is_worth_it(&plan.parse, rules_min))
		return 0;
	if (!error) {
		size_t chains = plan.parse.chain_count;

		plan.chains = calloc(chains, sizeof(*plan.chains));
		plan.texts = calloc(chains + plan.parse.set_count, sizeof(*plan.texts));
		if (!plan.chains || !plan.texts)
			return diag_no_memory(diag);
		if (!take_names(&plan))
			return 0;
		error = list_pieces(&plan, ret_listing, &ignored);
	}
	return error == -ENOMEM ? diag_no_memory(diag) : 0;
}
