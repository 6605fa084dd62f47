/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The status line of an HTTP proxy's answer, collected and judged. */
#ifndef AGENT_STATUS_LINE_H
#define AGENT_STATUS_LINE_H

#include <stddef.h>

#define STATUS_LINE_MAX 1024 /* bytes up to its newline; a longer one is no answer */

struct status_line {
	char text[STATUS_LINE_MAX];
	size_t size;
};

enum status_line_verdict {
	STATUS_LINE_PARTIAL,   /* its end has not been seen */
	STATUS_LINE_FORWARDED, /* 2xx */
	STATUS_LINE_REFUSED,   /* 403, 405, 407 */
	STATUS_LINE_OTHER,     /* another status, too long, or not HTTP */
};

/* Judges what has been collected (RFC 9112, 4). */
enum status_line_verdict status_line_judge(const struct status_line *line);

#endif
