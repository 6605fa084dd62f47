/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that grow while they are written, and never lose one unseen. */
#ifndef COMMON_BUFFER_H
#define COMMON_BUFFER_H

#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * A writer adds as often as it likes and asks once, at the end, whether all of
 * it is there: a want of memory is remembered, and buffer_take() then gives
 * nothing. glibc's open_memstream() is not used in this project, because out of
 * memory it drops bytes, and neither ferror() nor fclose() says so: a policy or
 * a digest over such a text would be another one.
 */

/* Starts as all zero; the local that owns it is marked OWN(own_buffer). */
struct buffer {
	struct bytes bytes; /* what was added; a NUL follows once it is not empty */
	size_t room;
	bool is_short; /* memory ended: what is there is not all */
};

static inline void own_buffer(struct buffer *buffer)
{
	own_bytes(&buffer->bytes);
	buffer->room = 0;
}

/* Adds `size` bytes, or one, or a formatted text. */
void buffer_add(struct buffer *buffer, const void *data, size_t size);
void buffer_add_byte(struct buffer *buffer, char byte);
void buffer_print(struct buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Hands over everything that was added, with a NUL after the end; `data` is never
 * NULL, also when nothing was. Returns 0, or -ENOMEM when any part got lost. */
int buffer_take(struct buffer *buffer, struct bytes *ret_bytes, struct diag *diag);

#endif
