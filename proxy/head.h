/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the head of an HTTP request ends; nothing in it is looked at. */
#ifndef PROXY_HEAD_H
#define PROXY_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#define HEAD_LIMIT 8192 /* bytes; a longer head is answered where it stands */

/* Starts as all zero. */
struct head {
	size_t size;        /* bytes seen */
	bool has_text;      /* a line that was not empty began */
	bool is_line_empty; /* ... and the present one is, so far */
};

/* Takes the next bytes as they arrive, in pieces of any size. Returns whether the
 * head is over: at the first empty line after one that is not (RFC 9112, 2.1 and
 * 2.2: empty lines before a request are skipped, a bare LF ends a line), or at
 * HEAD_LIMIT. Bytes after its end may be given, and do not matter. */
bool head_is_over(struct head *head, const char *data, size_t size);

#endif
