// SPDX-License-Identifier: GPL-2.0-or-later
// Colours for people at a terminal, put on text that says everything without them.
#include "common/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ECMA-48, select graphic rendition: colours that every terminal has had. */
static const char *const sequences[] = {
	[STYLE_GOOD] = "\033[32m", [STYLE_BAD] = "\033[1;31m", [STYLE_DOUBT] = "\033[33m",
	[STYLE_FAINT] = "\033[2m", [STYLE_TITLE] = "\033[1m",
};
static const char reset[] = "\033[0m";

bool style_is_wanted(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(fd) && (!no_color || !*no_color) &&
	       (!terminal || strcmp(terminal, "dumb") != 0);
}

/* Which part of the line the rule paints; false: none. */
static bool find_part(const struct style_rule *rule, const char *line, size_t size,
		      size_t *ret_begin)
{
	size_t length = strlen(rule->text);
	const char *at;

	if (size < length)
		return false;
	switch (rule->where) {
	case STYLE_LINE:
		*ret_begin = 0;
		return memcmp(line, rule->text, length) == 0;
	case STYLE_END:
		*ret_begin = size - length;
		return memcmp(line + size - length, rule->text, length) == 0;
	case STYLE_AFTER:
		at = memmem(line, size, rule->text, length);
		*ret_begin = at ? (size_t)(at - line) : 0;
		return at != NULL;
	}
	return false;
}

static void paint_line(const char *line, size_t size, const struct style_rule *rules,
		       size_t count, struct buffer *out)
{
	size_t begin;

	for (size_t i = 0; i < count; i++) {
		if (!find_part(&rules[i], line, size, &begin))
			continue;
		buffer_add(out, line, begin);
		buffer_print(out, "%s%.*s%s", sequences[rules[i].style],
			     (int)(size - begin), line + begin, reset);
		return;
	}
	buffer_add(out, line, size);
}

void style_paint(const char *text, const struct style_rule *rules, size_t count,
		 struct buffer *out)
{
	while (*text) {
		size_t size = strcspn(text, "\n");

		paint_line(text, size, rules, count, out);
		text += size;
		if (*text == '\n')
			buffer_add_byte(out, *text++);
	}
}
