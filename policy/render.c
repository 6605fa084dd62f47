// SPDX-License-Identifier: GPL-2.0-or-later
// Text from templates: "@name@" becomes a value, everything else stays.
#include "policy/render.h"

#include <string.h>

#include "common/buffer.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz_"

/* The length of the name in "@name@" at `text`, 0 if there is none. */
static size_t name_length(const char *text, const char *end)
{
	size_t length = 0;

	while (text + 1 + length < end && text[1 + length] &&
	       strchr(NAME_LETTERS, text[1 + length]))
		length++;
	return text + 1 + length < end && text[1 + length] == '@' ? length : 0;
}

static const char *find_value(const struct render_variable *variables, size_t count,
			      const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(variables[i].name) == length &&
		    memcmp(variables[i].name, name, length) == 0)
			return variables[i].value;
	return NULL;
}

static int add_text(struct buffer *out, const char *text, const char *end,
		    const char *place, const struct render_variable *variables,
		    size_t count, struct diag *diag)
{
	while (text < end) {
		const char *mark = memchr(text, '@', (size_t)(end - text));
		const char *value;
		size_t length;

		if (!mark)
			mark = end;
		buffer_add(out, text, (size_t)(mark - text));
		text = mark;
		if (mark == end)
			break;
		length = name_length(mark, end);
		if (!length) {
			buffer_add_byte(out, '@');
			text++;
			continue;
		}
		value = find_value(variables, count, mark + 1, length);
		if (!value)
			return diag_refuse(diag, place, "\"@%.*s@\" is not a variable",
					   (int)length, mark + 1);
		buffer_add(out, value, strlen(value));
		text += length + 2;
	}
	return 0;
}

int render_text(const char *text, size_t size, const char *place,
		const struct render_variable *variables, size_t count,
		struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_buffer) struct buffer out = {0};
	int error = add_text(&out, text, text + size, place, variables, count, diag);

	return error ? error : buffer_take(&out, ret_bytes, diag);
}

bool render_is_plain(const char *value)
{
	return *value && value[strspn(value, "abcdefghijklmnopqrstuvwxyz"
					     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789/._@+-")] == '\0';
}
