// SPDX-License-Identifier: GPL-2.0-or-later
// Documents for keeping, read straight from their canonical bytes into a struct.
#include "common/json_kept.h"

#include <string.h>

#include "common/canonical.h"

#define FIELDS_MAX 64         /* bits of the mask of keys seen */
#define INTEGER_DIGITS_MAX 15 /* CANONICAL_KEPT_MAX has as many */

struct reader {
	const char *at, *end;
};

static bool skip(struct reader *reader, char wanted)
{
	if (reader->at == reader->end || *reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

static bool skip_word(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(reader->end - reader->at) < length ||
	    memcmp(reader->at, word, length) != 0)
		return false;
	reader->at += length;
	return true;
}

/* A string in quotes: printable ASCII, no escape. */
static bool read_string(struct reader *reader, const char **ret_text, size_t *ret_length)
{
	const char *start;

	if (!skip(reader, '"'))
		return false;
	start = reader->at;
	while (reader->at < reader->end && *reader->at != '"') {
		if (*reader->at < 0x20 || *reader->at > 0x7e || *reader->at == '\\')
			return false;
		reader->at++;
	}
	*ret_text = start;
	*ret_length = (size_t)(reader->at - start);
	return skip(reader, '"');
}

static bool is_text(const char *text, size_t length, const char *wanted)
{
	return strncmp(text, wanted, length) == 0 && !wanted[length];
}

static bool read_integer(struct reader *reader, const struct json_field *field,
			 char *object)
{
	const char *start = reader->at;
	int64_t value = 0;

	while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
	       reader->at - start < INTEGER_DIGITS_MAX)
		value = value * 10 + (*reader->at++ - '0');
	if (reader->at == start || (*start == '0' && reader->at - start > 1) ||
	    value < field->min || value > field->max)
		return false;
	memcpy(object + field->offset, &value, sizeof(value));
	return true;
}

static bool read_boolean(struct reader *reader, const struct json_field *field,
			 char *object)
{
	bool value = skip_word(reader, "true");

	if (!value && !skip_word(reader, "false"))
		return false;
	memcpy(object + field->offset, &value, sizeof(value));
	return true;
}

static bool read_text(struct reader *reader, const struct json_field *field, char *object)
{
	const struct json_rule *rule = field->detail;
	char *member = object + field->offset;
	const char *text;
	size_t length;

	if (!read_string(reader, &text, &length) || length < (size_t)field->min ||
	    length > (size_t)field->max)
		return false;
	memcpy(member, text, length);
	member[length] = '\0';
	return !rule || rule->is_valid(member);
}

static bool read_literal(struct reader *reader, const struct json_field *field)
{
	const char *text;
	size_t length;

	return read_string(reader, &text, &length) &&
	       is_text(text, length, field->detail);
}

static bool read_choice(struct reader *reader, const struct json_field *field,
			char *object)
{
	const char *const *names = field->detail;
	const char *text;
	size_t length;

	if (!read_string(reader, &text, &length))
		return false;
	for (int i = 0; names[i]; i++) {
		if (!is_text(text, length, names[i]))
			continue;
		memcpy(object + field->offset, &i, sizeof(i));
		return true;
	}
	return false;
}

static bool read_object(struct reader *reader, const struct json_table *table,
			char *object);
static bool read_value(struct reader *reader, const struct json_field *field,
		       char *object);

static bool read_array(struct reader *reader, const struct json_field *field,
		       char *object)
{
	char *items = object + field->offset;
	size_t count = 0;

	if (!skip(reader, '['))
		return false;
	while (!skip(reader, ']')) {
		if (count == (size_t)field->max || (count > 0 && !skip(reader, ',')) ||
		    !read_value(reader, field->detail, items + count * field->size))
			return false;
		count++;
	}
	if (count < (size_t)field->min)
		return false;
	memcpy(object + field->count_offset, &count, sizeof(count));
	return true;
}

static bool read_value(struct reader *reader, const struct json_field *field,
		       char *object)
{
	if (field->type == &json_type_text)
		return read_text(reader, field, object);
	if (field->type == &json_type_integer)
		return read_integer(reader, field, object);
	if (field->type == &json_type_choice)
		return read_choice(reader, field, object);
	if (field->type == &json_type_object)
		return read_object(reader, field->detail, object + field->offset);
	if (field->type == &json_type_boolean)
		return read_boolean(reader, field, object);
	if (field->type == &json_type_array)
		return read_array(reader, field, object);
	if (field->type == &json_type_literal)
		return read_literal(reader, field);
	return false;
}

/* The keys of an object of the form for keeping rise, and so none is there twice. */
static bool is_after(const char *key, size_t length, const char *before,
		     size_t before_length)
{
	size_t common = length < before_length ? length : before_length;
	int order = memcmp(key, before, common);

	return order > 0 || (order == 0 && length > before_length);
}

static bool read_member(struct reader *reader, const struct json_table *table,
			char *object, const char *key, size_t length, uint64_t *seen)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct json_field *field = &table->fields[i];

		if (!is_text(key, length, field->key))
			continue;
		*seen |= UINT64_C(1) << i;
		if (field->present_offset)
			*(bool *)(object + field->present_offset) = true;
		return read_value(reader, field, object);
	}
	return false;
}

static bool read_object(struct reader *reader, const struct json_table *table,
			char *object)
{
	const char *key = NULL, *before = "";
	size_t length, before_length = 0;
	uint64_t seen = 0;

	if (table->count > FIELDS_MAX || !skip(reader, '{'))
		return false;
	while (!skip(reader, '}')) {
		if ((key && !skip(reader, ',')) || !read_string(reader, &key, &length) ||
		    !skip(reader, ':') || !is_after(key, length, before, before_length) ||
		    !read_member(reader, table, object, key, length, &seen))
			return false;
		before = key;
		before_length = length;
	}
	for (size_t i = 0; i < table->count; i++)
		if (!(seen & (UINT64_C(1) << i)) && !table->fields[i].present_offset)
			return false;
	return true;
}

bool json_kept_read(const void *data, size_t size, const struct json_table *table,
		    void *object)
{
	struct reader reader = {data, (const char *)data + size};

	return read_object(&reader, table, object) && reader.at == reader.end;
}
