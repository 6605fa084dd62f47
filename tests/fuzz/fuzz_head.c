// SPDX-License-Identifier: GPL-2.0-or-later
// The head of a request: in whatever pieces it arrives, it ends at the same byte, and
// never beyond the limit.
#include <assert.h>
#include <stdint.h>

#include "proxy/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how long the pieces are. Returns the end; 0: not yet. */
static size_t end_in_pieces(const char *text, size_t size, size_t piece)
{
	struct head head = {0};

	for (size_t at = 0; at < size; at += piece)
		if (head_is_over(&head, text + at, size - at < piece ? size - at : piece))
			return head.size;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	size_t once, bytewise;

	if (size < 2)
		return 0;
	once = end_in_pieces(text, size - 1, size - 1);
	bytewise = end_in_pieces(text, size - 1, 1);
	assert(once == bytewise && once <= HEAD_LIMIT);
	assert(end_in_pieces(text, size - 1, data[0] + 1U) == once);
	assert(once || size - 1 < HEAD_LIMIT);
	if (once && once < HEAD_LIMIT)
		assert(text[once - 1] == '\n');
	return 0;
}
