/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours for people at a terminal, put on text that says everything without them. */
#ifndef COMMON_STYLE_H
#define COMMON_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"

/*
 * Theory of operation
 *
 * Whatever makes a text makes it plain: in a log, in a file and in a test it is the
 * same, and nothing depends on a colour. A main asks style_is_wanted() of the
 * descriptor that it is about to print on, and then has the finished text painted by a
 * table of what to look for. Painting adds escape sequences and changes nothing else.
 */

enum style {
	STYLE_GOOD,  /* as it must be */
	STYLE_BAD,   /* refused, a leak */
	STYLE_DOUBT, /* not conclusive, open, still to do */
	STYLE_FAINT, /* explanations */
	STYLE_TITLE,
};

enum style_where {
	STYLE_LINE,  /* a line that begins with the text: all of it */
	STYLE_END,   /* a line that ends with the text: the text */
	STYLE_AFTER, /* a line that contains the text: from there to its end */
};

struct style_rule {
	enum style_where where;
	const char *text;
	enum style style;
};

/* Whether text for `fd` is to be painted: it is a terminal that is not "dumb", and
 * NO_COLOR is not in the environment, or empty (no-color.org). */
bool style_is_wanted(int fd);

/* Appends `text` to `out`, each line painted by the first rule that applies to it; line
 * by line, so that a cut text leaves no terminal coloured. */
void style_paint(const char *text, const struct style_rule *rules, size_t count,
		 struct buffer *out);

#endif
