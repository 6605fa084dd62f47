/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers that are lines of text, not JSON; read by the decoder process. */
#ifndef COLLECTOR_LINES_H
#define COLLECTOR_LINES_H

#include "common/diag.h"
#include "common/json_table.h"

#define LINES_NAME_SIZE 128
#define LINES_NAMES_MAX 64

/* Names, one a line: the engine's containers, networks and images. */
struct lines_names {
	char names[LINES_NAMES_MAX][LINES_NAME_SIZE];
	size_t count;
};

#define LINES_KEY_SIZE 64
#define LINES_VALUE_SIZE 2048
#define LINES_PROPERTIES_MAX 64

/* One of the lines "KEY=VALUE" that 'systemctl show' has of units. */
struct lines_property {
	int64_t unit; /* of those asked for, from 0 */
	char key[LINES_KEY_SIZE];
	char value[LINES_VALUE_SIZE];
};

/* About 140 KiB: the caller allocates. */
struct lines_properties {
	struct lines_property properties[LINES_PROPERTIES_MAX];
	size_t count;
};

/* What the decoder may send of them. */
extern const struct json_table lines_names_table;
extern const struct json_table lines_properties_table;

/* Readers for struct decoder_format, into a struct that is all zero and of no use after a
 * failure. Refuse what is not text, too long or too many. */
int lines_read_names(const char *data, size_t size, const char *place, void *ret_names,
		     struct diag *diag);
int lines_read_properties(const char *data, size_t size, const char *place,
			  void *ret_properties, struct diag *diag);

/* The value of `key` for the unit with that number, or NULL: it was not
 * shown, or more than once. */
const char *lines_find(const struct lines_properties *properties, int64_t unit,
		       const char *key);

#endif
