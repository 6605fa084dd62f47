// SPDX-License-Identifier: GPL-2.0-or-later
// Answers that are lines of text, not JSON; read by the decoder process.
#include "collector/lines.h"

#include <string.h>

#include "common/own.h"

static const struct json_field name_item = {
	JSON_ITEM_TEXT(LINES_NAME_SIZE, 1, &json_rule_ascii)};
static const struct json_field names_fields[] = {
	{JSON_ARRAY(struct lines_names, names, count, &name_item, 0)},
};
const struct json_table lines_names_table = JSON_TABLE(struct lines_names, names_fields);

static const struct json_field property_fields[] = {
	{JSON_INTEGER(struct lines_property, unit, 0, LINES_PROPERTIES_MAX)},
	{JSON_TEXT(struct lines_property, key, 1, &json_rule_ascii)},
	{JSON_TEXT(struct lines_property, value, 0, &json_rule_ascii)},
};
static const struct json_table property_table =
	JSON_TABLE(struct lines_property, property_fields);
static const struct json_field property_item = {
	JSON_ITEM_OBJECT(struct lines_property, &property_table)};
static const struct json_field properties_fields[] = {
	{JSON_ARRAY(struct lines_properties, properties, count, &property_item, 0)},
};
const struct json_table lines_properties_table =
	JSON_TABLE(struct lines_properties, properties_fields);

/* The next line, without its newline; the last one may lack it. False at the end. */
static bool next_line(const char **at, const char *past, const char **ret_line,
		      size_t *ret_length)
{
	const char *end;

	if (*at == past)
		return false;
	end = memchr(*at, '\n', (size_t)(past - *at));
	*ret_line = *at;
	*ret_length = (size_t)((end ? end : past) - *at);
	*at = end ? end + 1 : past;
	return true;
}

/* Copies a line's text if it fits and is printable ASCII; a NUL in it is not. */
static bool take_text(const char *text, size_t length, char *ret_text, size_t size)
{
	if (length >= size)
		return false;
	memcpy(ret_text, text, length);
	ret_text[length] = '\0';
	return strlen(ret_text) == length && json_rule_ascii.is_valid(ret_text);
}

int lines_read_names(const char *data, size_t size, const char *place, void *ret_names,
		     struct diag *diag)
{
	const char *at = data, *past = data + size, *line;
	struct lines_names *names = ret_names;
	size_t length;

	while (next_line(&at, past, &line, &length)) {
		if (!length)
			continue;
		if (names->count == LINES_NAMES_MAX ||
		    !take_text(line, length, names->names[names->count], LINES_NAME_SIZE))
			return diag_refuse(diag, place,
					   "lists more than %d names, or one that cannot "
					   "be read; remove what is not its own",
					   LINES_NAMES_MAX);
		names->count++;
	}
	return 0;
}

static bool take_property(struct lines_properties *properties, int64_t unit,
			  const char *line, size_t length)
{
	struct lines_property *property = &properties->properties[properties->count];
	const char *equals = memchr(line, '=', length);

	if (!equals || properties->count == LINES_PROPERTIES_MAX ||
	    unit > LINES_PROPERTIES_MAX ||
	    !take_text(line, (size_t)(equals - line), property->key, LINES_KEY_SIZE) ||
	    !take_text(equals + 1, (size_t)(line + length - equals - 1), property->value,
		       LINES_VALUE_SIZE) ||
	    !property->key[0])
		return false;
	property->unit = unit;
	properties->count++;
	return true;
}

int lines_read_properties(const char *data, size_t size, const char *place,
			  void *ret_properties, struct diag *diag)
{
	const char *at = data, *past = data + size, *line;
	struct lines_properties *properties = ret_properties;
	int64_t unit = 0;
	size_t length;

	while (next_line(&at, past, &line, &length)) {
		if (!length)
			unit++;
		else if (!take_property(properties, unit, line, length))
			return diag_refuse(
				diag, place,
				"what its manager shows of it cannot be read "
				"(line %zu); see 'systemctl --user show' as the "
				"workload user",
				properties->count + (size_t)unit + 1);
	}
	return 0;
}

const char *lines_find(const struct lines_properties *properties, int64_t unit,
		       const char *key)
{
	const char *found = NULL;

	for (size_t i = 0; i < properties->count; i++) {
		const struct lines_property *property = &properties->properties[i];

		if (property->unit != unit || strcmp(property->key, key) != 0)
			continue;
		if (found)
			return NULL;
		found = property->value;
	}
	return found;
}
