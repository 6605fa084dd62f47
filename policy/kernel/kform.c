// SPDX-License-Identifier: GPL-2.0-or-later
// A table in the kernel's own form: one line for each object.
#include "policy/kernel/kform.h"

#include <errno.h>
#include <string.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "policy/kernel/kdescribe.h"
#include "policy/kernel/kparse.h"
#include "policy/kernel/ktext.h"

/* Rules and elements are written first, because what they refer to decides how
 * sets and chains are numbered and which are inert; then all is put in order. */
struct former {
	struct kparse parse;
	struct kform form;
	unsigned int options;
	struct buffer parts; /* the lines of rules and elements */
	struct buffer text;
	struct ktext_hooks hooks;
	struct kparse_chain **chain_order; /* as they are written */
	struct kparse_set **set_order;
	size_t chain_total, set_total; /* in the two orders so far */
	size_t sets_numbered, chains_numbered;
	struct kform_chain *in_chain; /* whose rules are being written, for its uses */
	bool is_no_memory;
};

static void release_former(struct former *former)
{
	kparse_release(&former->parse);
	kform_release(&former->form);
	own_buffer(&former->parts);
	own_buffer(&former->text);
	free(former->chain_order);
	free(former->set_order);
}

const char *kform_family_name(uint8_t family)
{
	static const char *const names[] = {
		[NFPROTO_INET] = "inet",     [NFPROTO_IPV4] = "ip",
		[NFPROTO_ARP] = "arp",       [NFPROTO_NETDEV] = "netdev",
		[NFPROTO_BRIDGE] = "bridge", [NFPROTO_IPV6] = "ip6",
	};

	if (family < ARRAY_SIZE(names) && names[family])
		return names[family];
	return "unknown";
}

/* --- names --------------------------------------------------------------------- */

static bool is_anonymous_set(const struct kparse_set *set)
{
	return set->flags & NFT_SET_ANONYMOUS;
}

static void put_set_name(struct buffer *text, const struct kparse_set *set)
{
	if (set->number == KPARSE_NONE) {
		ktext_put_name(text, set->name);
		return;
	}
	ktext_put_string(text,
			 set->flags & (NFT_SET_MAP | NFT_SET_OBJECT) ? "__map" : "__set");
	ktext_put_number(text, set->number);
}

static void put_chain_name(struct buffer *text, const struct kparse_chain *chain)
{
	if (chain->number == KPARSE_NONE) {
		ktext_put_name(text, chain->name);
		return;
	}
	ktext_put_string(text, "__chain");
	ktext_put_number(text, chain->number);
}

static void number_set(struct former *former, struct kparse_set *set)
{
	set->is_referenced = true;
	if (!is_anonymous_set(set) || set->number != KPARSE_NONE)
		return;
	set->number = former->sets_numbered++;
	former->set_order[former->set_total++] = set;
}

static void number_chain(struct former *former, struct kparse_chain *chain)
{
	chain->is_referenced = true;
	if (!chain->is_anonymous || chain->number != KPARSE_NONE)
		return;
	chain->number = former->chains_numbered++;
	former->chain_order[former->chain_total++] = chain;
}

static void put_reference(struct buffer *text, enum kshape_kind kind, const char *name,
			  void *context)
{
	struct former *former = context;

	if (kind == KSHAPE_SET_NAME) {
		struct kparse_set *set = kparse_find_set(&former->parse, name);

		if (set) {
			number_set(former, set);
			put_set_name(text, set);
			return;
		}
	} else {
		struct kparse_chain *chain = kparse_find_chain(&former->parse, name);

		if (chain) {
			number_chain(former, chain);
			put_chain_name(text, chain);
			return;
		}
	}
	ktext_put_name(text, name);
}

static void on_expression(const char *name, struct attributes data, void *context)
{
	struct former *former = context;

	if (former->in_chain && kdescribe_use(former->in_chain, name, data) != 0)
		former->is_no_memory = true;
}

/* --- parts --------------------------------------------------------------------- */

static void write_part(struct former *former, const char *word, struct kparse_part *part,
		       const struct kshape *shape,
		       void (*put_owner)(struct buffer *text, const void *owner),
		       const void *owner)
{
	part->offset = former->parts.bytes.size;
	ktext_put_string(&former->parts, word);
	buffer_add(&former->parts, " ", 1);
	put_owner(&former->parts, owner);
	ktext_put_attributes(&former->parts, part->row, shape, &former->hooks);
	part->size = former->parts.bytes.size - part->offset;
}

static void put_owner_set(struct buffer *text, const void *owner)
{
	put_set_name(text, owner);
}

static void put_owner_chain(struct buffer *text, const void *owner)
{
	put_chain_name(text, owner);
}

static void write_rules(struct former *former, const struct kparse_chain *chain,
			struct kform_chain *described)
{
	former->in_chain = former->options & KFORM_USES ? described : NULL;
	for (size_t i = chain->first; i != KPARSE_NONE; i = former->parse.rules[i].next)
		write_part(former, "rule", &former->parse.rules[i], &kshape_rule,
			   put_owner_chain, chain);
	former->in_chain = NULL;
}

/* Whether its elements are left to kform_timed, or to nobody. */
static bool is_timed(const struct former *former, const struct kparse_set *set)
{
	if (set->flags & NFT_SET_TIMEOUT)
		return true;
	return former->options & KFORM_FOREIGN && set->flags & NFT_SET_EVAL;
}

static void write_elements(struct former *former, const struct kparse_set *set)
{
	if (is_timed(former, set))
		return;
	for (size_t i = set->first; i != KPARSE_NONE; i = former->parse.elements[i].next)
		write_part(former, "element", &former->parse.elements[i], &kshape_element,
			   put_owner_set, set);
}

/* --- the form ------------------------------------------------------------------ */

static void start_line(struct former *former, enum kform_kind kind, const char *owner)
{
	former->form.lines[former->form.line_count] = (struct kform_line){
		.kind = kind, .offset = former->text.bytes.size, .owner = owner};
}

static void end_line(struct former *former)
{
	struct kform_line *line = &former->form.lines[former->form.line_count++];

	line->size = former->text.bytes.size - line->offset;
	buffer_add(&former->text, "\n", 1);
}

static void copy_part(struct former *former, enum kform_kind kind, const char *owner,
		      const struct kparse_part *part)
{
	start_line(former, kind, owner);
	former->form.lines[former->form.line_count].handle = part->handle;
	buffer_add(&former->text, former->parts.bytes.data + part->offset, part->size);
	end_line(former);
}

static void write_table(struct former *former)
{
	struct buffer *text = &former->text;

	start_line(former, KFORM_TABLE, NULL);
	ktext_put_string(text, "table ");
	ktext_put_string(text, kform_family_name(former->parse.family));
	buffer_add(text, " ", 1);
	ktext_put_name(text, former->parse.table);
	ktext_put_attributes(text, former->parse.table_row, &kshape_table,
			     &former->hooks);
	end_line(former);
}

static void write_object_data(struct former *former, const struct kparse_object *object)
{
	const struct kshape *shape = kshape_object_data(object->type);
	struct attributes row = object->row;
	struct attribute attribute;

	while (attribute_next(&row, &attribute)) {
		if (attribute.type != NFTA_OBJ_DATA)
			continue;
		ktext_put_string(&former->text, " data(");
		if (shape) {
			ktext_put_attributes(&former->text, attribute_inside(&attribute),
					     shape, &former->hooks);
		} else {
			buffer_add(&former->text, "?", 1);
			ktext_put_hex(&former->text, attribute.data, attribute.size);
		}
		buffer_add(&former->text, ")", 1);
	}
}

static void write_objects(struct former *former)
{
	struct buffer *text = &former->text;

	for (size_t i = 0; i < former->parse.object_count; i++) {
		const struct kparse_object *object = &former->parse.objects[i];

		start_line(former, KFORM_OBJECT, NULL);
		ktext_put_string(text, "object ");
		ktext_put_name(text, object->name);
		ktext_put_string(text, " type=");
		ktext_put_number(text, object->type);
		ktext_put_attributes(text, object->row, &kshape_object, &former->hooks);
		write_object_data(former, object);
		end_line(former);
	}
	for (size_t i = 0; i < former->parse.flowtable_count; i++) {
		const struct kparse_object *flowtable = &former->parse.flowtables[i];

		start_line(former, KFORM_FLOWTABLE, NULL);
		ktext_put_string(text, "flowtable ");
		ktext_put_name(text, flowtable->name);
		ktext_put_attributes(text, flowtable->row, &kshape_flowtable,
				     &former->hooks);
		end_line(former);
	}
}

struct sorted {
	const struct kparse_part *part;
	const char *text; /* all parts' */
};

static int compare_parts(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;
	size_t shorter = a->part->size < b->part->size ? a->part->size : b->part->size;
	int order = memcmp(a->text + a->part->offset, b->text + b->part->offset, shorter);

	if (order)
		return order;
	return a->part->size < b->part->size ? -1 : a->part->size > b->part->size;
}

static int place_elements(struct former *former, const struct kparse_set *set)
{
	OWN(own_pointer) struct sorted *sorted = NULL;
	size_t count = 0;

	if (is_timed(former, set) || !set->count)
		return 0;
	sorted = calloc(set->count, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = set->first; i != KPARSE_NONE; i = former->parse.elements[i].next)
		sorted[count++] = (struct sorted){&former->parse.elements[i],
						  former->parts.bytes.data};
	qsort(sorted, count, sizeof(*sorted), compare_parts);
	for (size_t i = 0; i < count; i++)
		copy_part(former, KFORM_ELEMENT, set->name, sorted[i].part);
	return 0;
}

static void leave_out(struct former *former, enum kform_kind kind, const char *name)
{
	former->form.inert[former->form.inert_count++] =
		(struct kform_inert){.kind = kind, .name = name};
}

static int write_set(struct former *former, const struct kparse_set *set)
{
	if (former->options & KFORM_WITHOUT_INERT && !set->is_referenced && !set->count &&
	    !is_anonymous_set(set)) {
		leave_out(former, KFORM_SET, set->name);
		return 0;
	}
	start_line(former, KFORM_SET, set->name);
	ktext_put_string(&former->text, "set ");
	put_set_name(&former->text, set);
	ktext_put_attributes(&former->text, set->row, &kshape_set, &former->hooks);
	end_line(former);
	return place_elements(former, set);
}

/* Puts the chain at `index` of the order, and what was found out about it. */
static void write_chain(struct former *former, size_t index)
{
	const struct kparse_chain *chain = former->chain_order[index];
	struct kform_chain described = former->form.chains[index];

	former->form.chains[index] = (struct kform_chain){0};
	if (former->options & KFORM_WITHOUT_INERT && !chain->count &&
	    (chain->is_base ? chain->is_plain_base : !chain->is_referenced)) {
		kdescribe_release(&described);
		leave_out(former, KFORM_CHAIN, chain->name);
		return;
	}
	former->form.chains[former->form.chain_count++] = described;
	start_line(former, KFORM_CHAIN, chain->name);
	ktext_put_string(&former->text, "chain ");
	put_chain_name(&former->text, chain);
	ktext_put_attributes(&former->text, chain->row, &kshape_chain, &former->hooks);
	if (chain->older) {
		ktext_put_string(&former->text, " older=");
		ktext_put_number(&former->text, chain->older);
	}
	end_line(former);
	for (size_t i = chain->first; i != KPARSE_NONE; i = former->parse.rules[i].next)
		copy_part(former, KFORM_RULE, chain->name, &former->parse.rules[i]);
}

/* Numbers the first anonymous chain or set that nothing refers to, by its own name:
 * a kernel keeps no such thing. False when there is none. */
static bool number_loose(struct former *former)
{
	struct kparse *parse = &former->parse;

	for (size_t i = 0; i < parse->chain_count; i++)
		if (parse->chains[i].is_anonymous &&
		    parse->chains[i].number == KPARSE_NONE) {
			number_chain(former, &parse->chains[i]);
			return true;
		}
	for (size_t i = 0; i < parse->set_count; i++)
		if (is_anonymous_set(&parse->sets[i]) &&
		    parse->sets[i].number == KPARSE_NONE) {
			number_set(former, &parse->sets[i]);
			return true;
		}
	return false;
}

/* Writes all rules, chain by chain, those of anonymous chains as they are found, and
 * then all elements. */
static int write_parts(struct former *former)
{
	struct kparse *parse = &former->parse;
	size_t chain = 0, set = 0;

	for (size_t i = 0; i < parse->chain_count; i++)
		if (!parse->chains[i].is_anonymous)
			former->chain_order[former->chain_total++] = &parse->chains[i];
	for (size_t i = 0; i < parse->set_count; i++)
		if (!is_anonymous_set(&parse->sets[i]))
			former->set_order[former->set_total++] = &parse->sets[i];
	do {
		for (; chain < former->chain_total; chain++) {
			struct kform_chain *described = &former->form.chains[chain];
			int error =
				kdescribe_chain(described, former->chain_order[chain]);

			if (error)
				return error;
			write_rules(former, former->chain_order[chain], described);
		}
		for (; set < former->set_total; set++)
			write_elements(former, former->set_order[set]);
	} while (chain < former->chain_total || number_loose(former));
	return former->parts.is_short ? -ENOMEM : 0;
}

static int allocate(struct former *former)
{
	const struct kparse *parse = &former->parse;
	size_t lines = 1 + parse->object_count + parse->flowtable_count +
		       parse->set_count + parse->element_count + parse->chain_count +
		       parse->rule_count;

	former->form.lines = calloc(lines, sizeof(*former->form.lines));
	former->form.chains =
		calloc(parse->chain_count + 1, sizeof(*former->form.chains));
	former->form.inert = calloc(parse->set_count + parse->chain_count + 1,
				    sizeof(*former->form.inert));
	former->chain_order =
		calloc(parse->chain_count + 1, sizeof(struct kparse_chain *));
	former->set_order = calloc(parse->set_count + 1, sizeof(struct kparse_set *));
	/* Until they are put in order, all may hold something to free. */
	former->form.chain_count = former->form.chains ? parse->chain_count : 0;
	return former->form.lines && former->form.chains && former->form.inert &&
			       former->chain_order && former->set_order
		       ? 0
		       : -ENOMEM;
}

static int write_form(struct former *former)
{
	int error = allocate(former);

	if (!error)
		error = write_parts(former);
	if (!error)
		error = kdescribe_timed(&former->parse, &former->form);
	if (error)
		return error;
	write_table(former);
	write_objects(former);
	for (size_t i = 0; !error && i < former->set_total; i++)
		error = write_set(former, former->set_order[i]);
	former->form.chain_count = 0;
	for (size_t i = 0; i < former->chain_total; i++)
		write_chain(former, i);
	return error || former->is_no_memory || former->text.is_short ? -ENOMEM : 0;
}

int kform_decode(struct bytes *messages, unsigned int options, struct kform *ret_form,
		 struct diag *diag)
{
	OWN(release_former) struct former former = {.options = options};
	int error;

	former.form.messages = take_bytes(messages);
	former.hooks = (struct ktext_hooks){.put_reference = put_reference,
					    .on_expression = on_expression,
					    .context = &former};
	error = kparse_read(&former.form.messages, &former.parse, diag);
	if (error)
		return error;
	if (write_form(&former) != 0)
		return diag_no_memory(diag);
	error = buffer_take(&former.text, &former.form.text, diag);
	if (error)
		return error;
	former.form.family = former.parse.family;
	former.form.table = former.parse.table;
	former.form.table_flags = former.parse.table_flags;
	former.form.is_present = true;
	*ret_form = former.form;
	former.form = (struct kform){0};
	return 0;
}

int kform_read(struct nfnl *nfnl, uint8_t family, const char *table, unsigned int options,
	       struct kform *ret_form, struct diag *diag)
{
	OWN(own_bytes) struct bytes messages = {0};
	uint32_t generation;
	int error = kdump_table(nfnl, family, table, &messages, &generation, diag);

	if (error)
		return error;
	if (messages.size) {
		error = kform_decode(&messages, options, ret_form, diag);
	} else {
		*ret_form = (struct kform){.family = family};
		ret_form->text.data = calloc(1, 1);
		if (!ret_form->text.data)
			error = diag_no_memory(diag);
	}
	if (!error)
		ret_form->generation = generation;
	return error;
}

/* --- all tables ---------------------------------------------------------------- */

struct reading {
	const char *except;
	unsigned int options;
	struct kform_list list;
};

static bool is_wanted(uint8_t family, const char *table, void *context)
{
	const struct reading *reading = context;

	return !reading->except || family != NFPROTO_INET ||
	       strcmp(table, reading->except) != 0;
}

static int on_table(uint8_t family, const char *table, struct bytes *messages,
		    void *context, struct diag *diag)
{
	struct reading *reading = context;
	struct kform_list *list = &reading->list;
	struct kform *grown =
		reallocarray(list->forms, list->count + 1, sizeof(*list->forms));
	int error;

	(void)family;
	(void)table; /* both are in the messages */
	if (!grown)
		return diag_no_memory(diag);
	list->forms = grown;
	error = kform_decode(messages, reading->options, &grown[list->count], diag);
	if (!error)
		list->count++;
	return error;
}

int kform_read_all(struct nfnl *nfnl, const char *except, unsigned int options,
		   struct kform_list *ret_list, struct diag *diag)
{
	struct reading reading = {.except = except, .options = options};
	struct kdump_all all = {
		.is_wanted = is_wanted, .on_table = on_table, .context = &reading};
	int error = kdump_tables(nfnl, &all, &reading.list.generation, diag);

	if (error) {
		kform_list_release(&reading.list);
		return error;
	}
	for (size_t i = 0; i < reading.list.count; i++)
		reading.list.forms[i].generation = reading.list.generation;
	*ret_list = reading.list;
	return 0;
}

void kform_release(struct kform *form)
{
	for (size_t i = 0; i < form->chain_count; i++)
		kdescribe_release(&form->chains[i]);
	free(form->chains);
	free(form->lines);
	free(form->timed);
	free(form->inert);
	own_bytes(&form->text);
	own_bytes(&form->messages);
	*form = (struct kform){0};
}

void kform_list_release(struct kform_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		kform_release(&list->forms[i]);
	free(list->forms);
	*list = (struct kform_list){0};
}

void kform_digest(const struct kform *form, char ret_text[DIGEST_TEXT_SIZE])
{
	digest_bytes(form->text.data, form->text.size, ret_text);
}
