/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading what agents and the engine sent, in a process that can do nothing else. */
#ifndef COLLECTOR_DECODER_H
#define COLLECTOR_DECODER_H

#include "common/diag.h"
#include "common/json_table.h"
#include "collector/spawn.h"

/*
 * Theory of operation
 *
 * The decoder is forked before anything untrusted is read: nobody's user, no
 * capability, no new privileges, and a filter that leaves read, write, memory
 * and exit. It gets the number of a format and bytes, and sends back the plain
 * struct of that format's table, or the refusal. A parser's bug is then a bug of
 * a process that owns nothing.
 *
 * What it sends is as untrusted as what it read: decoder_check() walks the table
 * over the struct (texts terminated and valid, numbers in range, choices that
 * exist, counts that fit) before the caller sees it. Formats are plain data
 * without pointers.
 *
 * A decoder that dies or does not answer in time is "could not tell"; so is
 * every later request to it.
 */

struct decoder_format {
	const struct json_table *table;
	size_t limit; /* bytes */
	/* For what is not JSON: reads it into the table's struct. `data` has a NUL after
	 * `size` bytes. */
	int (*read)(const char *data, size_t size, const char *place, void *ret_object,
		    struct diag *diag);
};

struct decoder {
	struct spawned child;
	const struct decoder_format *formats;
	size_t count;
};

#define DECODER_INIT                                                                     \
	{                                                                                \
		.child = SPAWNED_INIT                                                    \
	}

/* Starts the process. `formats` must live as long as the decoder; a format's
 * number is its index. */
int decoder_start(const struct decoder_format *formats, size_t count,
		  struct decoder *ret_decoder, struct diag *diag);
void decoder_stop(struct decoder *decoder);

/* Decodes one document into `ret_object` (the table's struct); `name` is what
 * messages call it. The refusals are json_table_parse()'s or the format's own. */
int decoder_parse(struct decoder *decoder, size_t format, const void *data, size_t size,
		  const char *name, void *ret_object, struct diag *diag);

/* Whether the bytes of `object` can have come from `table`'s decoder. */
bool decoder_check(const struct json_table *table, const void *object);

#endif
