/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict JSON: bytes to a checked value, and places inside it. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <jansson.h>

#include "common/diag.h"

/*
 * Theory of operation
 *
 * jansson parses; this module refuses what jansson lets through and SPEC 3 does
 * not. The documents' own modules declare a table (common/json_table.h) and get
 * a plain struct: nothing past a decoder sees a json_t.
 *
 * A `struct json_at` is a value with its way from the document's root, kept on
 * the stack of the decoder that walks: it costs nothing until a refusal needs
 * the place.
 */

#define JSON_MAX_DEPTH 16
#define JSON_MAX_INTEGER 9007199254740991 /* 2^53 - 1: RFC 7493, 2.2 */

/* A value and where it is. For the root, `parent` is NULL and `key` the name of
 * the document; for an array's item, `key` is NULL and `index` counts. */
struct json_at {
	const struct json_at *parent;
	const char *key;
	size_t index;
	const json_t *value;
};

/* Cleanup for a json_t the local owns. */
static inline void own_json(json_t **value)
{
	json_decref(*value);
	*value = NULL;
}

/* Starts to watch jansson's allocations, and tells whether one failed since: some
 * of its functions do not say that it was memory. */
void json_watch_memory(void);
bool json_is_memory_short(void);

/* Parses `size` bytes as one JSON object under the rules of SPEC 3: at most
 * `limit` bytes, UTF-8 without byte order mark, no repeated key, float, -0,
 * U+0000 or lone surrogate, integers within +-JSON_MAX_INTEGER, at most
 * JSON_MAX_DEPTH levels, nothing after the object. `name` is the document's, for
 * places. The caller owns `*ret_root`. */
int json_parse(const void *data, size_t size, size_t limit, const char *name,
	       json_t **ret_root, struct diag *diag);

/* Writes "NAME: trusted_tcp[3].port", cut to `size`. Returns `ret_place`. */
char *json_place(const struct json_at *at, char *ret_place, size_t size);

/* Writes the JSON pointer (RFC 6901) of `at`, "/trusted_tcp/3/port"; "" for the
 * root. Cut to `size`. Returns `ret_pointer`. */
char *json_pointer(const struct json_at *at, char *ret_pointer, size_t size);

/* json_refuse(at, diag, format, ...): diag_refuse() with the place of `at`. */
#define json_refuse(...) (json_record_refusal(__VA_ARGS__), diag_code(EINVAL))

/* What json_refuse() does: callers use that. */
void json_record_refusal(const struct json_at *at, struct diag *diag, const char *format,
			 ...) __attribute__((format(printf, 3, 4)));

#endif
