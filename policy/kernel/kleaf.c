// SPDX-License-Identifier: GPL-2.0-or-later
// A line of the kernel form, taken apart into its attributes.
#include "policy/kernel/kleaf.h"

#include <stdio.h>
#include <string.h>

#define KLEAF_DEPTH_MAX 16
#define KLEAF_VALUE_SHOWN 200 /* bytes of a value in a report */

/* Where in the line, and inside which names. */
struct splitter {
	const char *at, *end;
	char path[KLEAF_PATH_SIZE];
	size_t lengths[KLEAF_DEPTH_MAX + 1]; /* of the path outside each name */
	size_t depth;
	struct kleaf *leaves;
	size_t count;
};

static void enter(struct splitter *splitter, const char *name, size_t size)
{
	size_t used = strlen(splitter->path);

	if (splitter->depth < KLEAF_DEPTH_MAX)
		splitter->lengths[splitter->depth] = used;
	splitter->depth++;
	/* A path too long is cut: it is for people. */
	snprintf(splitter->path + used, sizeof(splitter->path) - used, "%s%.*s",
		 used ? " " : "", (int)size, name);
}

static void leave(struct splitter *splitter)
{
	if (!splitter->depth)
		return;
	splitter->depth--;
	if (splitter->depth < KLEAF_DEPTH_MAX)
		splitter->path[splitter->lengths[splitter->depth]] = '\0';
}

static void add_leaf(struct splitter *splitter, const char *value, size_t size)
{
	struct kleaf *leaf;

	if (splitter->count == KLEAF_MAX)
		return;
	leaf = &splitter->leaves[splitter->count++];
	memcpy(leaf->path, splitter->path, sizeof(leaf->path));
	leaf->value = value;
	leaf->size = size;
}

/* A name in quotes, or braces with what an anonymous set holds, is one word. */
static const char *end_of_word(const struct splitter *splitter)
{
	const char *at = splitter->at;
	size_t open = 0;

	for (; at < splitter->end; at++) {
		if (*at == '"') {
			const char *close =
				memchr(at + 1, '"', (size_t)(splitter->end - at - 1));

			if (!close)
				return splitter->end;
			at = close;
		} else if (*at == '{') {
			open++;
		} else if (*at == '}' && open) {
			open--;
		} else if (!open && strchr(" ()=", *at)) {
			break;
		}
	}
	return at;
}

size_t kleaf_split(const char *line, size_t size, struct kleaf leaves[KLEAF_MAX])
{
	struct splitter splitter = {.at = line, .end = line + size, .leaves = leaves};

	while (splitter.at < splitter.end) {
		const char *word = splitter.at, *end = end_of_word(&splitter);
		size_t length = (size_t)(end - word);
		char next = end < splitter.end ? *end : ' ';

		splitter.at = end + (end < splitter.end && next != ')');
		if (next == '=') {
			const char *value = splitter.at;

			end = end_of_word(&splitter);
			next = end < splitter.end ? *end : ' ';
			/* "data=verdict(" opens one name, like "hook(". */
			splitter.at = end + (next == '(');
			if (next == '(') {
				length = (size_t)(end - word);
			} else {
				enter(&splitter, word, length);
				add_leaf(&splitter, value, (size_t)(end - value));
				leave(&splitter);
				length = 0;
			}
		}
		if (next == '(') {
			enter(&splitter, word, length);
			if (splitter.at < splitter.end && *splitter.at == ')')
				add_leaf(&splitter, word, 0);
		} else if (length) {
			add_leaf(&splitter, word, length);
		}
		while (splitter.at < splitter.end && *splitter.at == ')') {
			leave(&splitter);
			splitter.at++;
		}
	}
	return splitter.count;
}

static void put_value(struct buffer *text, const struct kleaf *leaf)
{
	size_t shown = leaf->size < KLEAF_VALUE_SHOWN ? leaf->size : KLEAF_VALUE_SHOWN;

	buffer_print(text, "%.*s%s", (int)shown, leaf->value,
		     shown < leaf->size ? "..." : "");
}

static void put_leaf(struct buffer *text, const struct kleaf *leaf)
{
	buffer_print(text, "%s%s", leaf->path, *leaf->path && leaf->size ? " " : "");
	put_value(text, leaf);
}

void kleaf_put_differences(struct buffer *text, const struct kleaf *wanted,
			   size_t wanted_count, const struct kleaf *live,
			   size_t live_count)
{
	size_t shorter = wanted_count < live_count ? wanted_count : live_count;

	for (size_t i = 0; i < shorter; i++) {
		if (strcmp(wanted[i].path, live[i].path) != 0) {
			buffer_print(text, "\tkernel form: must have ");
			put_leaf(text, &wanted[i]);
			buffer_print(text, ", has ");
			put_leaf(text, &live[i]);
			buffer_add_byte(text, '\n');
			return;
		}
		if (wanted[i].size == live[i].size &&
		    memcmp(wanted[i].value, live[i].value, live[i].size) == 0)
			continue;
		buffer_print(text, "\tkernel form: %s: must be ", wanted[i].path);
		put_value(text, &wanted[i]);
		buffer_print(text, ", is ");
		put_value(text, &live[i]);
		buffer_add_byte(text, '\n');
	}
	if (shorter < wanted_count) {
		buffer_print(text, "\tkernel form: lacks ");
		put_leaf(text, &wanted[shorter]);
		buffer_add_byte(text, '\n');
	}
	if (shorter < live_count) {
		buffer_print(text, "\tkernel form: has beside that ");
		put_leaf(text, &live[shorter]);
		buffer_add_byte(text, '\n');
	}
}
