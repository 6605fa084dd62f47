// SPDX-License-Identifier: GPL-2.0-or-later
// The semantic digest: the same before and after a worker's start and stop.
#include "policy/semantic.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/canonical.h"
#include "common/json.h"
#include "common/own.h"

#define NAME_SIZE 256 /* linux/netfilter/nf_tables.h: NFT_NAME_MAXLEN */

/* --- what is referred to ------------------------------------------------------- */

struct references {
	json_t *texts;  /* every "@name" that occurs */
	json_t *jumped; /* chains that a jump or goto names */
	json_t *filled; /* chains that have rules */
};

static void release_references(struct references *references)
{
	json_decref(references->texts);
	json_decref(references->jumped);
	json_decref(references->filled);
}

static int add_text(json_t *set, const char *text)
{
	return json_object_set_new(set, text, json_true()) == 0 ? 0 : -ENOMEM;
}

static int add_target(struct references *references, const json_t *value, const char *key)
{
	const char *target =
		json_string_value(json_object_get(json_object_get(value, key), "target"));

	return target ? add_text(references->jumped, target) : 0;
}

/* Verdicts occur in rules and as the values of maps, named and anonymous. */
static int collect(struct references *references, json_t *value)
{
	const char *text = json_string_value(value), *key;
	json_t *item;
	size_t i;
	int error = 0;

	if (text && text[0] == '@')
		return add_text(references->texts, text);
	error = add_target(references, value, "jump");
	if (!error)
		error = add_target(references, value, "goto");
	json_object_foreach(value, key, item)
	{
		if (!error)
			error = collect(references, item);
	}
	json_array_foreach(value, i, item)
	{
		if (!error)
			error = collect(references, item);
	}
	return error;
}

static int collect_all(struct references *references, const json_t *entries)
{
	json_t *entry;
	size_t i;
	int error = 0;

	references->texts = json_object();
	references->jumped = json_object();
	references->filled = json_object();
	if (!references->texts || !references->jumped || !references->filled)
		return -ENOMEM;
	json_array_foreach(entries, i, entry)
	{
		const char *chain = json_string_value(
			json_object_get(json_object_get(entry, "rule"), "chain"));

		if (!error && chain)
			error = add_text(references->filled, chain);
		if (!error)
			error = collect(references, entry);
	}
	return error;
}

/* --- what is dropped ----------------------------------------------------------- */

static bool is_text(const json_t *body, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(body, key));

	return text && strcmp(text, wanted) == 0;
}

static bool has_only(const json_t *body, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!json_object_get(body, keys[i]))
			return false;
	return json_object_size(body) == count;
}

/* Its name in the set, whatever it is. */
static bool is_named_in(const json_t *set, const json_t *body, const char *prefix)
{
	const char *name = json_string_value(json_object_get(body, "name"));
	char text[NAME_SIZE + 1]; /* and the prefix */

	if (!name || strlen(name) >= NAME_SIZE)
		return true; /* what is not understood is kept */
	snprintf(text, sizeof(text), "%.1s%.*s", prefix, NAME_SIZE - 1, name);
	return json_object_get(set, text) != NULL;
}

static bool is_inert_chain(const json_t *body, const struct references *references)
{
	static const char *const keys[] = {"family", "table", "name",  "type",
					   "hook",   "prio",  "policy"};
	/* Any of these is a base chain's. */
	static const char *const marks[] = {"type", "hook", "prio", "policy", "dev"};

	if (is_named_in(references->filled, body, ""))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (json_object_get(body, marks[i]))
			return has_only(body, keys, ARRAY_SIZE(keys)) &&
			       is_text(body, "type", "filter") &&
			       is_text(body, "policy", "accept");
	return !is_named_in(references->jumped, body, "");
}

static bool is_inert_set(const json_t *body, const struct references *references)
{
	return json_array_size(json_object_get(body, "elem")) == 0 &&
	       !is_named_in(references->texts, body, "@");
}

static bool is_inert(const json_t *entry, const struct references *references)
{
	const json_t *chain = json_object_get(entry, "chain");
	const json_t *set = json_object_get(entry, "set");
	const json_t *map = json_object_get(entry, "map");

	return (chain && is_inert_chain(chain, references)) ||
	       (set && is_inert_set(set, references)) ||
	       (map && is_inert_set(map, references));
}

/* --- order ------------------------------------------------------------------------ */

/* A value and what it is sorted by. */
struct sortable {
	json_t *value; /* borrowed */
	int rank;
	const char *kind;
	struct bytes key;
	size_t index;
};

struct sortables {
	struct sortable *items;
	size_t count;
};

static void release_sortables(struct sortables *sortables)
{
	for (size_t i = 0; i < sortables->count; i++)
		own_bytes(&sortables->items[i].key);
	free(sortables->items);
}

static int compare_bytes(const struct bytes *one, const struct bytes *other)
{
	size_t shorter = one->size < other->size ? one->size : other->size;
	int order = memcmp(one->data, other->data, shorter);

	if (order)
		return order;
	return (one->size > other->size) - (one->size < other->size);
}

static int compare(const void *one, const void *other)
{
	const struct sortable *left = one, *right = other;
	int order;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	order = strcmp(left->kind, right->kind);
	if (!order)
		order = compare_bytes(&left->key, &right->key);
	if (!order)
		order = left->index < right->index ? -1 : 1;
	return order;
}

enum { RANK_OTHER = 4, RANK_RULE };

static int find_rank(const char *kind)
{
	static const char *const first[] = {"table", "chain", "set", "map"};

	for (int i = 0; i < (int)ARRAY_SIZE(first); i++)
		if (strcmp(kind, first[i]) == 0)
			return i;
	return strcmp(kind, "rule") == 0 ? RANK_RULE : RANK_OTHER;
}

/* Entries by rank, kind and bytes, but rules by their chain's name alone. Elements
 * (`is_entries` false) by their bytes. */
static int fill_sortable(struct sortable *item, bool is_entries, struct diag *diag)
{
	const json_t *by = item->value;

	item->kind = "";
	if (is_entries) {
		void *only = json_object_iter(item->value);

		item->kind = json_object_iter_key(only);
		item->rank = find_rank(item->kind);
		if (item->rank == RANK_RULE)
			by = json_object_get(json_object_iter_value(only), "chain");
	}
	return canonical_write(by, &item->key, diag);
}

static int sort(json_t *array, bool is_entries, struct diag *diag)
{
	OWN(release_sortables) struct sortables sortables = {0};
	OWN(own_json) json_t *sorted = json_array();
	size_t count = json_array_size(array);
	int error;

	if (count)
		sortables.items = calloc(count, sizeof(*sortables.items));
	if (!sorted || (count && !sortables.items))
		return diag_no_memory(diag);
	for (; sortables.count < count; sortables.count++) {
		struct sortable *item = &sortables.items[sortables.count];

		item->index = sortables.count;
		item->value = json_array_get(array, item->index);
		error = fill_sortable(item, is_entries, diag);
		if (error)
			return error;
	}
	if (count)
		qsort(sortables.items, count, sizeof(*sortables.items), compare);
	for (size_t i = 0; i < count; i++)
		if (json_array_append(sorted, sortables.items[i].value) != 0)
			return diag_no_memory(diag);
	if (json_array_clear(array) != 0 || json_array_extend(array, sorted) != 0)
		return diag_no_memory(diag);
	return 0;
}

/* Anonymous sets and maps are {"set": [...]} wherever they stand. */
static int sort_elements(json_t *value, struct diag *diag)
{
	json_t *elements = json_object_get(value, "set"), *item;
	const char *key;
	size_t i;
	int error = 0;

	json_object_foreach(value, key, item)
	{
		if (!error)
			error = sort_elements(item, diag);
	}
	json_array_foreach(value, i, item)
	{
		if (!error)
			error = sort_elements(item, diag);
	}
	if (!error && json_is_array(elements))
		error = sort(elements, false, diag);
	return error;
}

static int sort_entry(json_t *entry, struct diag *diag)
{
	json_t *set = json_object_get(entry, "set");
	json_t *map = json_object_get(entry, "map");
	json_t *elements = json_object_get(set ? set : map, "elem");
	int error = sort_elements(entry, diag);

	if (!error && elements)
		error = sort(elements, false, diag);
	return error;
}

int semantic_reduce(const json_t *entries, json_t **ret_reduced, struct diag *diag)
{
	OWN(release_references) struct references references = {0};
	OWN(own_json) json_t *reduced = json_array();
	json_t *entry;
	size_t i;

	if (!reduced || collect_all(&references, entries) != 0)
		return diag_no_memory(diag);
	json_array_foreach(entries, i, entry)
	{
		json_t *copy;
		int error;

		if (is_inert(entry, &references))
			continue;
		copy = json_deep_copy(entry);
		if (!copy || json_array_append_new(reduced, copy) != 0)
			return diag_no_memory(diag);
		error = sort_entry(copy, diag);
		if (error)
			return error;
	}
	if (sort(reduced, true, diag) != 0)
		return -EIO;
	*ret_reduced = TAKE_POINTER(reduced);
	return 0;
}

int semantic_digest(const json_t *entries, char ret_sha256[DIGEST_TEXT_SIZE],
		    struct diag *diag)
{
	OWN(own_json) json_t *reduced = NULL;
	int error = semantic_reduce(entries, &reduced, diag);

	return error ? error : canonical_digest(reduced, ret_sha256, diag);
}
