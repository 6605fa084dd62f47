// SPDX-License-Identifier: GPL-2.0-or-later
// The status line of an HTTP proxy's answer, collected and judged.
#include "agent/status_line.h"

#include <stdbool.h>
#include <string.h>

#define STATUS_OFFSET 9 /* "HTTP/1.1 " */
#define STATUS_END (STATUS_OFFSET + 3)

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* The status of a line of `size` bytes without its end, or -1. */
static int read_status(const char *text, size_t size)
{
	int status = 0;

	if (size < STATUS_END || memcmp(text, "HTTP/1.", 7) != 0 || !is_digit(text[7]) ||
	    text[8] != ' ')
		return -1;
	for (size_t i = STATUS_OFFSET; i < STATUS_END; i++) {
		if (!is_digit(text[i]))
			return -1;
		status = status * 10 + (text[i] - '0');
	}
	/* The blank before the reason is often left out with the reason. */
	return size == STATUS_END || text[STATUS_END] == ' ' ? status : -1;
}

enum status_line_verdict status_line_judge(const struct status_line *line)
{
	const char *end = memchr(line->text, '\n', line->size);
	size_t size;
	int status;

	if (!end)
		return line->size < sizeof(line->text) ? STATUS_LINE_PARTIAL
						       : STATUS_LINE_OTHER;
	size = (size_t)(end - line->text);
	if (size > 0 && line->text[size - 1] == '\r')
		size--;
	status = read_status(line->text, size);
	if (status >= 200 && status <= 299)
		return STATUS_LINE_FORWARDED;
	if (status == 403 || status == 405 || status == 407)
		return STATUS_LINE_REFUSED;
	return STATUS_LINE_OTHER;
}
