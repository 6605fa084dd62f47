// SPDX-License-Identifier: GPL-2.0-or-later
// Text in XML and HTML.
#include "verifier/markup.h"

void markup_add(struct buffer *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			buffer_print(out, "&amp;");
			break;
		case '<':
			buffer_print(out, "&lt;");
			break;
		case '>':
			buffer_print(out, "&gt;");
			break;
		case '"':
			buffer_print(out, "&quot;");
			break;
		case '\'':
			buffer_print(out, "&#39;");
			break;
		default:
			buffer_add_byte(out,
					*text >= 0x20 && *text <= 0x7e ? *text : '?');
		}
	}
}
