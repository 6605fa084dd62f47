// SPDX-License-Identifier: GPL-2.0-or-later
// Normalized entries: a table's listing without what changes by itself.
#include "policy/normalize.h"

#include <errno.h>
#include <string.h>

/* One object of the listing: {"chain": {...}} taken apart. */
struct entry {
	struct json_at at; /* the inner object */
	const char *kind;
	json_t *body;
};

/* A broken listing is no verdict. */
static int broken(const struct json_at *at, struct diag *diag, const char *text)
{
	char place[DIAG_PLACE_SIZE];

	return diag_fail(diag, 0, json_place(at, place, sizeof(place)), "%s", text);
}

static int take_apart(const struct json_at *at, struct entry *ret_entry,
		      struct diag *diag)
{
	json_t *outer = (json_t *)at->value; /* the tree is ours */
	void *first = json_object_iter(outer);

	if (!first || json_object_size(outer) != 1)
		return broken(at, diag, "not an object of one key");
	ret_entry->kind = json_object_iter_key(first);
	ret_entry->body = json_object_iter_value(first);
	ret_entry->at = (struct json_at){at, ret_entry->kind, 0, ret_entry->body};
	if (!json_is_object(ret_entry->body))
		return broken(&ret_entry->at, diag, "not an object");
	return 0;
}

/* A text that an entry must have. */
static int get_text(const struct entry *entry, const char *key, const char **ret_text,
		    struct diag *diag)
{
	struct json_at at = {&entry->at, key, 0, json_object_get(entry->body, key)};

	*ret_text = json_string_value(at.value);
	return *ret_text ? 0 : broken(&at, diag, "missing, or not a string");
}

/* --- what is removed --------------------------------------------------------- */

static int zero_counter(json_t *counter)
{
	static const char *const keys[] = {"packets", "bytes"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_object_get(counter, keys[i]) &&
		    json_object_set_new(counter, keys[i], json_integer(0)) != 0)
			return -ENOMEM;
	return 0;
}

/* Every `handle`, and every counter's values, wherever they are. The depth is
 * JSON_MAX_DEPTH at most. */
static int strip(json_t *value)
{
	json_t *counter = json_object_get(value, "counter"), *item;
	const char *key;
	size_t i;
	int error = 0;

	json_object_del(value, "handle"); /* fails when there is none */
	if (json_is_object(counter))
		error = zero_counter(counter);
	json_object_foreach(value, key, item)
	{
		if (!error)
			error = strip(item);
	}
	json_array_foreach(value, i, item)
	{
		if (!error)
			error = strip(item);
	}
	return error;
}

/* An element with attributes is {"elem": {"val": ..., "timeout": ...}}; a map's is
 * a pair of such a key and a value. */
static void strip_element(json_t *element)
{
	json_t *attributes;

	if (json_is_array(element))
		element = json_array_get(element, 0);
	attributes = json_object_get(element, "elem");
	json_object_del(attributes, "timeout");
	json_object_del(attributes, "expires");
}

static bool is_set(const char *kind)
{
	return strcmp(kind, "set") == 0 || strcmp(kind, "map") == 0;
}

static int strip_entry(const struct entry *entry, struct diag *diag)
{
	json_t *elements = json_object_get(entry->body, "elem"), *element;
	size_t i;

	if (is_set(entry->kind)) {
		json_array_foreach(elements, i, element)
		{
			strip_element(element);
		}
	}
	if (strcmp(entry->kind, "counter") == 0 && zero_counter(entry->body) != 0)
		return diag_no_memory(diag);
	return strip(entry->body) != 0 ? diag_no_memory(diag) : 0;
}

/* --- what a listing must be --------------------------------------------------- */

struct reading {
	const char *table;
	const char *family; /* of the table entry, once seen */
	json_t *names;      /* "kind name" of what was seen, chains to refer to */
};

/* Remembers the name of an object. */
static int add_name(struct reading *reading, const struct entry *entry, struct diag *diag)
{
	const char *name;
	json_t *names;
	int error = get_text(entry, "name", &name, diag);

	if (error)
		return error;
	names = json_object_get(reading->names, entry->kind);
	if (!names &&
	    json_object_set_new(reading->names, entry->kind, json_object()) != 0)
		return diag_no_memory(diag);
	names = json_object_get(reading->names, entry->kind);
	if (json_object_get(names, name))
		return broken(&entry->at, diag, "listed before under the same name");
	if (json_object_set_new(names, name, json_true()) != 0)
		return diag_no_memory(diag);
	return 0;
}

static int check_table(struct reading *reading, const struct entry *entry,
		       struct diag *diag)
{
	const char *name, *family;
	int error = get_text(entry, "name", &name, diag);

	if (!error)
		error = get_text(entry, "family", &family, diag);
	if (error)
		return error;
	if (reading->family)
		return broken(&entry->at, diag, "a second table");
	if (strcmp(name, reading->table) != 0)
		return broken(&entry->at, diag, "not the table that was asked for");
	reading->family = family;
	return 0;
}

static int check_rule(const struct reading *reading, const struct entry *entry,
		      struct diag *diag)
{
	const char *chain;
	int error = get_text(entry, "chain", &chain, diag);

	if (error)
		return error;
	if (!json_object_get(json_object_get(reading->names, "chain"), chain))
		return broken(&entry->at, diag, "of a chain that is not listed");
	if (!json_is_array(json_object_get(entry->body, "expr")))
		return broken(&entry->at, diag, "without expressions");
	return 0;
}

/* What belongs to the table. */
static int check_member(struct reading *reading, const struct entry *entry,
			struct diag *diag)
{
	const char *table, *family;
	json_t *elements = json_object_get(entry->body, "elem");
	int error = get_text(entry, "table", &table, diag);

	if (!error)
		error = get_text(entry, "family", &family, diag);
	if (error)
		return error;
	if (!reading->family)
		return broken(&entry->at, diag, "listed before its table");
	if (strcmp(table, reading->table) != 0 || strcmp(family, reading->family) != 0)
		return broken(&entry->at, diag, "of another table");
	if (is_set(entry->kind) && elements && !json_is_array(elements))
		return broken(&entry->at, diag, "elements that are not an array");
	return strcmp(entry->kind, "rule") == 0 ? check_rule(reading, entry, diag)
						: add_name(reading, entry, diag);
}

/* Puts one object of the listing among `entries`, normalized. */
static int add_entry(struct reading *reading, const struct json_at *at, json_t *entries,
		     struct diag *diag)
{
	struct entry entry;
	int error = take_apart(at, &entry, diag);

	if (error || strcmp(entry.kind, "metainfo") == 0)
		return error;
	error = strcmp(entry.kind, "table") == 0 ? check_table(reading, &entry, diag)
						 : check_member(reading, &entry, diag);
	if (!error)
		error = strip_entry(&entry, diag);
	if (error)
		return error;
	return json_array_append(entries, (json_t *)at->value) == 0
		       ? 0
		       : diag_no_memory(diag);
}

static int read_entries(const struct json_at *root, const char *table, json_t *entries,
			struct diag *diag)
{
	OWN(own_json) json_t *names = json_object();
	struct reading reading = {.table = table, .names = names};
	struct json_at list = {root, "nftables", 0,
			       json_object_get(root->value, "nftables")};
	int error = 0;

	if (!names)
		return diag_no_memory(diag);
	if (!json_is_array(list.value) || json_object_size(root->value) != 1)
		return broken(root, diag, "not {\"nftables\": [...]} alone");
	for (size_t i = 0; i < json_array_size(list.value) && !error; i++) {
		struct json_at item = {&list, NULL, i, json_array_get(list.value, i)};

		error = add_entry(&reading, &item, entries, diag);
	}
	if (!error && !reading.family)
		return diag_fail(diag, 0, root->key, "no table %s in the listing", table);
	return error;
}

int normalize_listing(const void *data, size_t size, const char *name, const char *table,
		      json_t **ret_entries, struct diag *diag)
{
	OWN(own_json) json_t *value = NULL;
	OWN(own_json) json_t *entries = json_array();
	int error;

	if (!entries)
		return diag_no_memory(diag);
	error = json_parse(data, size, NORMALIZE_LIMIT, name, &value, diag);
	if (error && diag->kind == DIAG_REFUSED)
		diag->kind = DIAG_UNDECIDED;
	if (!error)
		error = read_entries(&(struct json_at){NULL, name, 0, value}, table,
				     entries, diag);
	if (error)
		return error;
	*ret_entries = TAKE_POINTER(entries);
	return 0;
}
