// SPDX-License-Identifier: GPL-2.0-or-later
// A format with every type of common/json_table.h, for tests of its two readers.
#include "tests/unit/kept_sample.h"

#include <string.h>

#include "common/canonical.h"
#include "common/json_kept.h"

#define LIMIT 65536

static const char *const choices[] = {"one", "other", NULL};

static const struct json_field item_fields[] = {
	{JSON_TEXT(struct kept_item, text, 0, &json_rule_ascii)},
	{JSON_BOOLEAN(struct kept_item, flag)},
};

static const struct json_table item_table = JSON_TABLE(struct kept_item, item_fields);

static const struct json_field item = {JSON_ITEM_OBJECT(struct kept_item, &item_table)};
static const struct json_field name = {JSON_ITEM_TEXT(4, 1, &json_rule_name)};

static const struct json_field fields[] = {
	{JSON_LITERAL("schema", "s")},
	{JSON_INTEGER(struct kept_sample, num, 3, 12)},
	{JSON_INTEGER(struct kept_sample, number, 0, CANONICAL_KEPT_MAX)},
	{JSON_TEXT(struct kept_sample, note, 1, NULL),
	 JSON_OPTIONAL(struct kept_sample, has_note)},
	{JSON_TEXT(struct kept_sample, path, 1, &json_rule_path)},
	{JSON_CHOICE(struct kept_sample, choice, choices)},
	{JSON_OBJECT(struct kept_sample, part, &item_table),
	 JSON_OPTIONAL(struct kept_sample, has_part)},
	{JSON_ARRAY(struct kept_sample, items, item_count, &item, 1)},
	{JSON_ARRAY(struct kept_sample, names, name_count, &name, 0)},
};

const struct json_table kept_sample_table = JSON_TABLE(struct kept_sample, fields);

bool kept_sample_read(const void *data, size_t size, struct kept_sample *object)
{
	memset(object, 0, sizeof(*object));
	return size <= LIMIT && json_kept_read(data, size, &kept_sample_table, object);
}

bool kept_sample_read_tree(const void *data, size_t size, struct kept_sample *object)
{
	OWN(own_json) json_t *root = NULL;
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	memset(object, 0, sizeof(*object));
	return json_parse(data, size, LIMIT, "d", &root, &diag) == 0 &&
	       canonical_check_kept(root, "d", &diag) == 0 &&
	       json_table_decode(&(struct json_at){NULL, "d", 0, root},
				 &kept_sample_table, object, &diag) == 0 &&
	       json_table_write(&kept_sample_table, object, &bytes, &diag) == 0 &&
	       bytes.size == size && memcmp(bytes.data, data, size) == 0;
}
