// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes that grow while they are written, and never lose one unseen.
#include "common/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BUFFER_FIRST_ROOM 256

/* Makes room for `size` more bytes and the NUL. */
static bool reserve(struct buffer *buffer, size_t size)
{
	size_t room = buffer->room ? buffer->room : BUFFER_FIRST_ROOM;
	char *grown;

	if (buffer->is_short)
		return false;
	if (size >= SIZE_MAX / 2 - buffer->bytes.size) {
		buffer->is_short = true;
		return false;
	}
	while (room < buffer->bytes.size + size + 1)
		room *= 2;
	if (room == buffer->room)
		return true;
	grown = realloc(buffer->bytes.data, room);
	if (!grown) {
		buffer->is_short = true;
		return false;
	}
	buffer->bytes.data = grown;
	buffer->room = room;
	return true;
}

void buffer_add(struct buffer *buffer, const void *data, size_t size)
{
	if (!reserve(buffer, size))
		return;
	if (size)
		memcpy(buffer->bytes.data + buffer->bytes.size, data, size);
	buffer->bytes.size += size;
	buffer->bytes.data[buffer->bytes.size] = '\0';
}

void buffer_add_byte(struct buffer *buffer, char byte)
{
	buffer_add(buffer, &byte, 1);
}

void buffer_print(struct buffer *buffer, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	/* Fails for want of memory, or beyond INT_MAX. */
	if (length < 0) {
		buffer->is_short = true;
		return;
	}
	if (!reserve(buffer, (size_t)length))
		return;
	va_start(arguments, format);
	vsnprintf(buffer->bytes.data + buffer->bytes.size, (size_t)length + 1, format,
		  arguments);
	va_end(arguments);
	buffer->bytes.size += (size_t)length;
}

int buffer_take(struct buffer *buffer, struct bytes *ret_bytes, struct diag *diag)
{
	if (!reserve(buffer, 0))
		return diag_no_memory(diag);
	buffer->bytes.data[buffer->bytes.size] = '\0';
	*ret_bytes = take_bytes(&buffer->bytes);
	buffer->room = 0;
	return 0;
}
