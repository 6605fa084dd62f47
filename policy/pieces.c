// SPDX-License-Identifier: GPL-2.0-or-later
// A table's listing put together of the listings of its parts.
#include "policy/pieces.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

#define PIECES_START "{\"nftables\": ["
#define PIECES_END "]}\n"
#define PIECES_PREFIX 768 /* of two names and what is around them */

/* Bytes of the texts. */
struct span {
	const char *at;
	size_t size;
};

static int unexpected(struct diag *diag, const char *text)
{
	return diag_fail(diag, EBADMSG, "listing in pieces", "%s", text);
}

static bool starts_with(struct span span, const char *start)
{
	size_t size = strlen(start);

	return span.size >= size && memcmp(span.at, start, size) == 0;
}

static bool skip(struct span *rest, const char *start)
{
	if (!starts_with(*rest, start))
		return false;
	rest->at += strlen(start);
	rest->size -= strlen(start);
	return true;
}

/* How many bytes the object at the start of `rest` has; 0 if it has no end. */
static size_t object_size(struct span rest)
{
	bool is_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < rest.size; i++) {
		char byte = rest.at[i];

		if (is_string) {
			i += byte == '\\';
			is_string = byte != '"';
		} else if (byte == '"') {
			is_string = true;
		} else if (byte == '{') {
			depth++;
		} else if (byte == '}' && --depth == 0) {
			return i + 1;
		}
		if (!depth)
			return 0;
	}
	return 0;
}

/* --- documents ------------------------------------------------------------------- */

/* One line: {"nftables": [{"metainfo": ...}, ...]}. */
struct document {
	struct span rest; /* what was not read of all lines */
	struct span metainfo;
	bool is_over, is_broken;
};

/* The next object of the document's array; false at its end, and if broken. */
static bool next_object(struct document *document, struct span *ret_object)
{
	if (document->is_over || document->is_broken)
		return false;
	if (skip(&document->rest, PIECES_END)) {
		document->is_over = true;
		return false;
	}
	if (document->metainfo.size && !skip(&document->rest, ", ")) {
		document->is_broken = true;
		return false;
	}
	*ret_object = (struct span){document->rest.at, object_size(document->rest)};
	document->is_broken = !ret_object->size;
	document->rest.at += ret_object->size;
	document->rest.size -= ret_object->size;
	return !document->is_broken;
}

/* Begins the next line of `rest`. */
static struct document start_document(struct span rest)
{
	struct document document = {.rest = rest};

	document.is_broken = !skip(&document.rest, PIECES_START) ||
			     !next_object(&document, &document.metainfo) ||
			     !starts_with(document.metainfo, "{\"metainfo\": ");
	return document;
}

/* --- chains and sets --------------------------------------------------------------- */

/* What is moved: a chain and its rules, which are next to each other, or a set. */
struct part {
	struct span object, rules;
};

struct joining {
	const struct pieces *pieces;
	struct part *chains, *sets;
	size_t rule_count;
};

static void release_joining(struct joining *joining)
{
	free(joining->chains);
	free(joining->sets);
}

static int read_chain(struct joining *joining, size_t number, struct span *rest,
		      struct diag *diag)
{
	const char *table = joining->pieces->table,
		   *name = joining->pieces->chains[number];
	struct part *part = &joining->chains[number];
	struct document document = start_document(*rest);
	char chain[PIECES_PREFIX], rule[PIECES_PREFIX];
	struct span object;

	snprintf(chain, sizeof(chain),
		 "{\"chain\": {\"family\": \"inet\", \"table\": \"%s\", \"name\": "
		 "\"%s\", ",
		 table, name);
	snprintf(rule, sizeof(rule),
		 "{\"rule\": {\"family\": \"inet\", \"table\": \"%s\", \"chain\": "
		 "\"%s\", ",
		 table, name);
	if (!next_object(&document, &part->object) || !starts_with(part->object, chain))
		return unexpected(diag, "a chain that is not the one asked for");
	while (next_object(&document, &object)) {
		if (!starts_with(object, rule))
			return unexpected(diag, "more than a chain's rules");
		if (!part->rules.size)
			part->rules.at = object.at;
		part->rules.size = (size_t)(object.at + object.size - part->rules.at);
		joining->rule_count++;
	}
	*rest = document.rest;
	return document.is_over ? 0 : unexpected(diag, "a chain that has no end");
}

static int read_set(struct joining *joining, size_t number, struct span *rest,
		    struct diag *diag)
{
	struct document document = start_document(*rest);
	struct span none;

	if (!next_object(&document, &joining->sets[number].object) ||
	    next_object(&document, &none) || !document.is_over)
		return unexpected(diag, "a set that is not alone");
	*rest = document.rest;
	return 0;
}

/* How much of an object says which one it is: up to its handle, which no other object
 * of a table has. 0 if it has none. */
static size_t identity_size(struct span object)
{
	static const char key[] = ", \"handle\": ";
	const char *at = memmem(object.at, object.size, key, strlen(key));
	size_t size;

	if (!at)
		return 0;
	size = (size_t)(at - object.at) + strlen(key);
	while (size < object.size && object.at[size] >= '0' && object.at[size] <= '9')
		size++;
	return size;
}

/* The whole of a set, of which the table's line may lack the elements; and the time
 * that they have left is another a moment later. */
static const struct span *find_set(const struct joining *joining, struct span set)
{
	size_t size = identity_size(set);

	for (size_t i = 0; size && i < joining->pieces->set_count; i++) {
		const struct span *whole = &joining->sets[i].object;

		if (identity_size(*whole) == size && memcmp(whole->at, set.at, size) == 0)
			return whole;
	}
	return NULL;
}

/* --- the whole -------------------------------------------------------------------- */

static void put(struct buffer *listing, struct span object)
{
	if (object.size) {
		buffer_print(listing, ", ");
		buffer_add(listing, object.at, object.size);
	}
}

/* What the table's line has besides chains and rules, and sets with elements. */
static int put_table(const struct joining *joining, struct document *document,
		     struct buffer *listing, struct diag *diag)
{
	struct span object;
	size_t sets = 0;

	buffer_print(listing, PIECES_START);
	buffer_add(listing, document->metainfo.at, document->metainfo.size);
	while (next_object(document, &object)) {
		if (starts_with(object, "{\"chain\": ") ||
		    starts_with(object, "{\"rule\": "))
			continue;
		if (starts_with(object, "{\"set\": ") ||
		    starts_with(object, "{\"map\": ")) {
			const struct span *whole = find_set(joining, object);

			if (!whole)
				return unexpected(diag, "a set without its elements");
			object = *whole;
			sets++;
		}
		put(listing, object);
	}
	if (!document->is_over)
		return unexpected(diag, "a table that has no end");
	return sets == joining->pieces->set_count
		       ? 0
		       : unexpected(diag, "not as many sets as the kernel has");
}

/* Reads the lines after the table's. */
static int read_parts(struct joining *joining, struct span rest, struct diag *diag)
{
	const struct pieces *pieces = joining->pieces;
	int error = 0;

	joining->chains = calloc(pieces->chain_count + 1, sizeof(*joining->chains));
	joining->sets = calloc(pieces->set_count + 1, sizeof(*joining->sets));
	if (!joining->chains || !joining->sets)
		return diag_no_memory(diag);
	for (size_t i = 0; !error && i < pieces->chain_count; i++)
		error = read_chain(joining, i, &rest, diag);
	for (size_t i = 0; !error && i < pieces->set_count; i++)
		error = read_set(joining, i, &rest, diag);
	if (!error && rest.size)
		return unexpected(diag, "more lines than were asked for");
	if (!error && joining->rule_count != pieces->rule_count)
		return unexpected(diag, "not as many rules as the kernel has");
	return error;
}

int pieces_join(const struct pieces *pieces, const struct bytes *text,
		struct bytes *ret_listing, struct diag *diag)
{
	OWN(release_joining) struct joining joining = {.pieces = pieces};
	OWN(own_buffer) struct buffer listing = {0};
	struct span all = {text->data, text->size}, lines = all;
	struct document table = start_document(all);
	const char *end = all.size ? memchr(all.at, '\n', all.size) : NULL;
	int error;

	if (!end)
		return unexpected(diag, "no line");
	lines.at = end + 1;
	lines.size = all.size - (size_t)(lines.at - all.at);
	error = read_parts(&joining, lines, diag);
	if (!error)
		error = put_table(&joining, &table, &listing, diag);
	if (!error && table.rest.at != lines.at)
		return unexpected(diag, "a table's line that goes on");
	for (size_t i = 0; !error && i < pieces->chain_count; i++)
		put(&listing, joining.chains[i].object);
	for (size_t i = 0; !error && i < pieces->chain_count; i++)
		put(&listing, joining.chains[i].rules);
	buffer_print(&listing, PIECES_END);
	return error ? error : buffer_take(&listing, ret_listing, diag);
}
