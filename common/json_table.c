// SPDX-License-Identifier: GPL-2.0-or-later
// A document's form as a table: decoder, closed key set and encoder in one.
#include "common/json_table.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/canonical.h"
#include "common/inet.h"
#include "common/json_kept.h"

static void *member(void *object, size_t offset)
{
	return (char *)object + offset;
}

static const void *const_member(const void *object, size_t offset)
{
	return (const char *)object + offset;
}

static int decode_integer(const struct json_at *at, const struct json_field *field,
			  void *object, struct diag *diag)
{
	json_int_t value;

	if (!json_is_integer(at->value))
		return json_refuse(at, diag, "not an integer");
	value = json_integer_value(at->value);
	if (value < field->min || value > field->max)
		return json_refuse(at, diag, "not from %" PRId64 " to %" PRId64,
				   field->min, field->max);
	*(int64_t *)member(object, field->offset) = value;
	return 0;
}

static int encode_integer(const struct json_field *field, const void *object,
			  json_t **ret_value)
{
	*ret_value = json_integer(*(const int64_t *)const_member(object, field->offset));
	return *ret_value ? 0 : -ENOMEM;
}

static int decode_boolean(const struct json_at *at, const struct json_field *field,
			  void *object, struct diag *diag)
{
	if (!json_is_boolean(at->value))
		return json_refuse(at, diag, "neither true nor false");
	*(bool *)member(object, field->offset) = json_is_true(at->value);
	return 0;
}

static int encode_boolean(const struct json_field *field, const void *object,
			  json_t **ret_value)
{
	/* true and false are static values: this cannot fail. */
	*ret_value = json_boolean(*(const bool *)const_member(object, field->offset));
	return 0;
}

static int decode_text(const struct json_at *at, const struct json_field *field,
		       void *object, struct diag *diag)
{
	const struct json_rule *rule = field->detail;
	const char *text;
	size_t length;

	if (!json_is_string(at->value))
		return json_refuse(at, diag, "not a string");
	text = json_string_value(at->value);
	length = json_string_length(at->value);
	if (rule && !rule->is_valid(text))
		return json_refuse(at, diag, "not %s", rule->expected);
	if (length < (size_t)field->min || length > (size_t)field->max)
		return json_refuse(at, diag, "not of %" PRId64 " to %" PRId64 " bytes",
				   field->min, field->max);
	memcpy(member(object, field->offset), text, length + 1);
	return 0;
}

static int encode_string(const char *text, json_t **ret_value)
{
	json_watch_memory();
	*ret_value = json_string(text);
	if (*ret_value)
		return 0;
	/* jansson refuses what is not UTF-8, and gives no other reason. */
	return json_is_memory_short() ? -ENOMEM : -EILSEQ;
}

static int encode_text(const struct json_field *field, const void *object,
		       json_t **ret_value)
{
	return encode_string(const_member(object, field->offset), ret_value);
}

static int decode_literal(const struct json_at *at, const struct json_field *field,
			  void *object, struct diag *diag)
{
	const char *text = json_string_value(at->value);

	(void)object;
	if (!text || strcmp(text, field->detail) != 0)
		return json_refuse(at, diag, "not \"%s\"", (const char *)field->detail);
	return 0;
}

static int encode_literal(const struct json_field *field, const void *object,
			  json_t **ret_value)
{
	(void)object;
	return encode_string(field->detail, ret_value);
}

static int decode_choice(const struct json_at *at, const struct json_field *field,
			 void *object, struct diag *diag)
{
	const char *text = json_string_value(at->value);
	const char *const *names = field->detail;
	char choices[256] = "";
	size_t used = 0;

	for (int i = 0; text && names[i]; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*(int *)member(object, field->offset) = i;
		return 0;
	}
	for (int i = 0; names[i] && used < sizeof(choices); i++)
		used += (size_t)snprintf(choices + used, sizeof(choices) - used, " %s",
					 names[i]);
	return json_refuse(at, diag, "none of:%s", choices);
}

static int encode_choice(const struct json_field *field, const void *object,
			 json_t **ret_value)
{
	const char *const *names = field->detail;
	int chosen = *(const int *)const_member(object, field->offset), count = 0;

	while (names[count])
		count++;
	assert(chosen >= 0 && chosen < count);
	return encode_string(names[chosen], ret_value);
}

static int decode_object(const struct json_at *at, const struct json_field *field,
			 void *object, struct diag *diag)
{
	const struct json_table *table = field->detail;

	assert(table->size == field->size);
	return json_table_decode(at, table, member(object, field->offset), diag);
}

static int encode_object(const struct json_field *field, const void *object,
			 json_t **ret_value)
{
	struct diag diag = {0};

	return json_table_encode(field->detail, const_member(object, field->offset),
				 ret_value, &diag);
}

static int decode_array(const struct json_at *at, const struct json_field *field,
			void *object, struct diag *diag)
{
	const struct json_field *item = field->detail;
	char *items = member(object, field->offset);
	size_t count = json_array_size(at->value);
	int error;

	assert(item->size == field->size);
	if (!json_is_array(at->value))
		return json_refuse(at, diag, "not an array");
	if (count < (size_t)field->min || count > (size_t)field->max)
		return json_refuse(at, diag, "not %" PRId64 " to %" PRId64 " items",
				   field->min, field->max);
	for (size_t i = 0; i < count; i++) {
		struct json_at place = {at, NULL, i, json_array_get(at->value, i)};

		error = item->type->decode(&place, item, items + i * field->size, diag);
		if (error)
			return error;
	}
	*(size_t *)member(object, field->count_offset) = count;
	return 0;
}

static int encode_array(const struct json_field *field, const void *object,
			json_t **ret_value)
{
	const struct json_field *item = field->detail;
	const char *items = const_member(object, field->offset);
	size_t count = *(const size_t *)const_member(object, field->count_offset);
	OWN(own_json) json_t *array = json_array();
	json_t *value;
	int error;

	assert(count <= (size_t)field->max);
	if (!array)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		error = item->type->encode(item, items + i * field->size, &value);
		if (error)
			return error;
		if (json_array_append_new(array, value) != 0)
			return -ENOMEM;
	}
	*ret_value = TAKE_POINTER(array);
	return 0;
}

const struct json_type json_type_integer = {decode_integer, encode_integer};
const struct json_type json_type_boolean = {decode_boolean, encode_boolean};
const struct json_type json_type_text = {decode_text, encode_text};
const struct json_type json_type_literal = {decode_literal, encode_literal};
const struct json_type json_type_choice = {decode_choice, encode_choice};
const struct json_type json_type_object = {decode_object, encode_object};
const struct json_type json_type_array = {decode_array, encode_array};

bool json_is_clean_path(const char *text)
{
	const char *component = text + 1;
	size_t length;

	if (text[0] != '/')
		return false;
	if (!text[1])
		return true;
	for (;; component += length + 1) {
		length = strcspn(component, "/");
		if (length == 0 || (length == 1 && component[0] == '.') ||
		    (length == 2 && component[0] == '.' && component[1] == '.'))
			return false;
		for (size_t i = 0; i < length; i++)
			if ((unsigned char)component[i] < 0x20 || component[i] == 0x7f)
				return false;
		if (!component[length])
			return true;
	}
}

static bool is_ipv4(const char *text)
{
	uint32_t address;

	return inet_is_ipv4(text, &address);
}

static bool is_address(const char *text)
{
	struct sockaddr_storage address;
	socklen_t size;

	return inet_parse(text, 0, &address, &size) == 0;
}

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e || *text == '"' || *text == '\\')
			return false;
	return true;
}

static bool is_name(const char *text)
{
	if (text[0] < 'a' || text[0] > 'z')
		return false;
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

const struct json_rule json_rule_digest = {"64 lower-case hexadecimal digits",
					   digest_is_text};
const struct json_rule json_rule_path = {"a clean absolute path", json_is_clean_path};
const struct json_rule json_rule_ipv4 = {"a canonical IPv4 address", is_ipv4};
const struct json_rule json_rule_address = {"a canonical IPv4 or IPv6 address",
					    is_address};
const struct json_rule json_rule_ascii = {"printable ASCII without quotes or backslashes",
					  is_ascii};
const struct json_rule json_rule_name = {
	"a name of lower-case letters, digits, '_' and '-' that starts with a letter",
	is_name};

static const struct json_field *find_field(const struct json_table *table,
					   const char *key)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->fields[i].key, key) == 0)
			return &table->fields[i];
	return NULL;
}

static int check_keys(const struct json_at *at, const struct json_table *table,
		      struct diag *diag)
{
	json_t *object = (json_t *)at->value; /* iteration changes nothing */

	for (void *i = json_object_iter(object); i;
	     i = json_object_iter_next(object, i)) {
		struct json_at place = {at, json_object_iter_key(i), 0, NULL};

		if (!find_field(table, place.key))
			return json_refuse(&place, diag, "unknown key");
	}
	return 0;
}

static int decode_fields(const struct json_at *at, const struct json_table *table,
			 void *object, struct diag *diag)
{
	int error;

	for (size_t i = 0; i < table->count; i++) {
		const struct json_field *field = &table->fields[i];
		struct json_at place = {at, field->key, 0,
					json_object_get(at->value, field->key)};

		if (!place.value && field->present_offset)
			continue;
		if (!place.value)
			return json_refuse(&place, diag, "missing");
		error = field->type->decode(&place, field, object, diag);
		if (error)
			return error;
		if (field->present_offset)
			*(bool *)member(object, field->present_offset) = true;
	}
	return 0;
}

int json_table_decode(const struct json_at *at, const struct json_table *table,
		      void *ret_object, struct diag *diag)
{
	OWN(own_pointer) void *object = NULL;
	int error;

	if (!json_is_object(at->value))
		return json_refuse(at, diag, "not an object");
	error = check_keys(at, table, diag);
	if (error)
		return error;
	object = calloc(1, table->size);
	if (!object)
		return diag_no_memory(diag);
	error = decode_fields(at, table, object, diag);
	if (error)
		return error;
	memcpy(ret_object, object, table->size);
	return 0;
}

int json_table_parse(const void *data, size_t size, size_t limit, const char *name,
		     const struct json_table *table, void *ret_object, struct diag *diag)
{
	OWN(own_json) json_t *root = NULL;
	int error = json_parse(data, size, limit, name, &root, diag);

	if (error)
		return error;
	return json_table_decode(&(struct json_at){NULL, name, 0, root}, table,
				 ret_object, diag);
}

/* "re-print and compare what was read": a document whose bytes another reader
 * could take for something else does not come out the same. */
static int check_kept_bytes(const void *data, size_t size, const char *name,
			    const struct json_table *table, const void *object,
			    struct diag *diag)
{
	OWN(own_bytes) struct bytes again = {0};
	int error = json_table_write(table, object, &again, diag);

	if (error)
		return error;
	if (again.size != size || memcmp(again.data, data, size) != 0)
		return diag_refuse(diag, name, "not canonical JSON (RFC 8785)");
	return 0;
}

int json_table_parse_kept(const void *data, size_t size, size_t limit, const char *name,
			  const struct json_table *table, void *ret_object,
			  struct diag *diag)
{
	OWN(own_pointer) void *object = calloc(1, table->size);
	OWN(own_json) json_t *root = NULL;
	int error;

	if (!object)
		return diag_no_memory(diag);
	/* The quick way says yes or nothing; the other one finds the reason. */
	if (size <= limit && json_kept_read(data, size, table, object)) {
		memcpy(ret_object, object, table->size);
		return 0;
	}
	memset(object, 0, table->size);
	error = json_parse(data, size, limit, name, &root, diag);
	if (!error)
		error = canonical_check_kept(root, name, diag);
	if (!error)
		error = json_table_decode(&(struct json_at){NULL, name, 0, root}, table,
					  object, diag);
	if (!error)
		error = check_kept_bytes(data, size, name, table, object, diag);
	if (error)
		return error;
	memcpy(ret_object, object, table->size);
	return 0;
}

int json_table_encode(const struct json_table *table, const void *object,
		      json_t **ret_value, struct diag *diag)
{
	OWN(own_json) json_t *value = json_object();
	json_t *item;
	int error;

	if (!value)
		return diag_no_memory(diag);
	for (size_t i = 0; i < table->count; i++) {
		const struct json_field *field = &table->fields[i];

		if (field->present_offset &&
		    !*(const bool *)const_member(object, field->present_offset))
			continue;
		error = field->type->encode(field, object, &item);
		if (error && error != -ENOMEM)
			return diag_fail(diag, -error, field->key, "cannot be encoded");
		if (error || json_object_set_new(value, field->key, item) != 0)
			return diag_no_memory(diag);
	}
	*ret_value = TAKE_POINTER(value);
	return 0;
}

int json_table_write(const struct json_table *table, const void *object,
		     struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_json) json_t *value = NULL;
	int error = json_table_encode(table, object, &value, diag);

	return error ? error : canonical_write(value, ret_bytes, diag);
}
