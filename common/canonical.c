// SPDX-License-Identifier: GPL-2.0-or-later
// Canonical JSON: RFC 8785 bytes, and digests of values over them.
#include "common/canonical.h"

#include <string.h>

#include "common/buffer.h"
#include "common/json.h"

/*
 * RFC 8785, 3.2.3 orders keys by their UTF-16 code units. In UTF-8 that is the
 * order of bytes, except that a code point above U+FFFF (lead byte from 0xF0),
 * whose first unit is a surrogate, comes before U+E000 to U+FFFF (lead bytes
 * 0xEE and 0xEF). Keys that differ do so first in two lead bytes or in two
 * continuation bytes of characters of one length.
 */
static int compare_keys(const void *left, const void *right)
{
	const unsigned char *a = *(const unsigned char *const *)left;
	const unsigned char *b = *(const unsigned char *const *)right;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a >= 0xee && *b >= 0xee && (*a >= 0xf0) != (*b >= 0xf0))
		return *a >= 0xf0 ? -1 : 1;
	return *a - *b;
}

/* RFC 8785, 3.2.2.2. */
static void write_string(const char *text, size_t length, struct buffer *buffer)
{
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};

	buffer_add_byte(buffer, '"');
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '"' || byte == '\\') {
			buffer_add_byte(buffer, '\\');
			buffer_add_byte(buffer, (char)byte);
		} else if (byte >= 0x20) {
			buffer_add_byte(buffer, (char)byte);
		} else if (byte < sizeof(letters) && letters[byte]) {
			buffer_add_byte(buffer, '\\');
			buffer_add_byte(buffer, letters[byte]);
		} else {
			buffer_print(buffer, "\\u%04x", byte);
		}
	}
	buffer_add_byte(buffer, '"');
}

static int write_value(const json_t *value, unsigned int depth, struct buffer *buffer,
		       struct diag *diag);

static int write_object(const json_t *object, unsigned int depth, struct buffer *buffer,
			struct diag *diag)
{
	size_t count = json_object_size(object), filled = 0;
	OWN(own_pointer) const char **keys = calloc(count + 1, sizeof(*keys));
	json_t *walked = (json_t *)object; /* iteration changes nothing */
	int error = 0;

	if (!keys)
		return diag_no_memory(diag);
	for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i))
		keys[filled++] = json_object_iter_key(i);
	qsort(keys, count, sizeof(*keys), compare_keys);
	buffer_add_byte(buffer, '{');
	for (size_t i = 0; i < count && !error; i++) {
		if (i)
			buffer_add_byte(buffer, ',');
		write_string(keys[i], strlen(keys[i]), buffer);
		buffer_add_byte(buffer, ':');
		error = write_value(json_object_get(object, keys[i]), depth, buffer,
				    diag);
	}
	buffer_add_byte(buffer, '}');
	return error;
}

static int write_array(const json_t *array, unsigned int depth, struct buffer *buffer,
		       struct diag *diag)
{
	int error = 0;

	buffer_add_byte(buffer, '[');
	for (size_t i = 0; i < json_array_size(array) && !error; i++) {
		if (i)
			buffer_add_byte(buffer, ',');
		error = write_value(json_array_get(array, i), depth, buffer, diag);
	}
	buffer_add_byte(buffer, ']');
	return error;
}

static int write_value(const json_t *value, unsigned int depth, struct buffer *buffer,
		       struct diag *diag)
{
	if (depth == JSON_MAX_DEPTH && (json_is_object(value) || json_is_array(value)))
		return diag_refuse(diag, NULL, "nested deeper than %d", JSON_MAX_DEPTH);
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return write_object(value, depth + 1, buffer, diag);
	case JSON_ARRAY:
		return write_array(value, depth + 1, buffer, diag);
	case JSON_STRING:
		write_string(json_string_value(value), json_string_length(value), buffer);
		return 0;
	case JSON_INTEGER:
		buffer_print(buffer, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return 0;
	case JSON_TRUE:
		buffer_add(buffer, "true", 4);
		return 0;
	case JSON_FALSE:
		buffer_add(buffer, "false", 5);
		return 0;
	case JSON_NULL:
		buffer_add(buffer, "null", 4);
		return 0;
	case JSON_REAL:
		break;
	}
	return diag_refuse(diag, NULL, "a number that is not an integer");
}

int canonical_write(const json_t *value, struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_buffer) struct buffer buffer = {0};
	int error = write_value(value, 0, &buffer, diag);

	return error ? error : buffer_take(&buffer, ret_bytes, diag);
}

int canonical_digest(const json_t *value, char ret_text[DIGEST_TEXT_SIZE],
		     struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = canonical_write(value, &bytes, diag);

	if (error)
		return error;
	digest_bytes(bytes.data, bytes.size, ret_text);
	return 0;
}

static bool is_kept_text(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '"' || text[i] == '\\')
			return false;
	return true;
}

static int check_kept(const struct json_at *at, struct diag *diag);

static int check_kept_object(const struct json_at *at, struct diag *diag)
{
	json_t *object = (json_t *)at->value; /* iteration changes nothing */
	int error = 0;

	for (void *i = json_object_iter(object); i && !error;
	     i = json_object_iter_next(object, i)) {
		const char *key = json_object_iter_key(i);
		struct json_at member = {at, key, 0, json_object_iter_value(i)};

		if (!is_kept_text(key, strlen(key)))
			return json_refuse(at, diag, "a key that is not plain ASCII");
		for (const char *letter = key; *letter; letter++)
			if (*letter >= 'A' && *letter <= 'Z')
				return json_refuse(&member, diag,
						   "a key with an upper-case letter");
		error = check_kept(&member, diag);
	}
	return error;
}

static int check_kept(const struct json_at *at, struct diag *diag)
{
	json_int_t integer;
	int error = 0;

	switch (json_typeof(at->value)) {
	case JSON_OBJECT:
		return check_kept_object(at, diag);
	case JSON_ARRAY:
		for (size_t i = 0; i < json_array_size(at->value) && !error; i++) {
			struct json_at item = {at, NULL, i, json_array_get(at->value, i)};

			error = check_kept(&item, diag);
		}
		return error;
	case JSON_STRING:
		if (!is_kept_text(json_string_value(at->value),
				  json_string_length(at->value)))
			return json_refuse(at, diag, "not ASCII text without escapes");
		return 0;
	case JSON_INTEGER:
		integer = json_integer_value(at->value);
		if (integer < 0 || integer > CANONICAL_KEPT_MAX)
			return json_refuse(at, diag, "not an integer from 0 below 10^15");
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		return 0;
	case JSON_NULL:
	case JSON_REAL:
		break;
	}
	return json_refuse(at, diag, "null or a float in a document for keeping");
}

int canonical_check_kept(const json_t *value, const char *name, struct diag *diag)
{
	struct json_at root = {NULL, name, 0, value};

	return check_kept(&root, diag);
}
