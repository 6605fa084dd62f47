/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document's form as a table: decoder, closed key set and encoder in one. */
#ifndef COMMON_JSON_TABLE_H
#define COMMON_JSON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/digest.h"
#include "common/json.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * A format is declared once, as a table that says for each key which type it
 * has and where in a plain struct it lies. json_table_decode() refuses a
 * missing or unknown key and whatever a type refuses; json_table_encode() goes
 * the other way from the same rows, so that what is read and what is written
 * cannot drift apart. Rules that span several keys are the module's own, after
 * decoding.
 *
 *	static const struct json_field fields[] = {
 *		{JSON_LITERAL("schema", "netproof.plan.v1")},
 *		{JSON_INTEGER(struct plan, port, 1, 65535)},
 *		{JSON_TEXT(struct plan, name, 1, &json_rule_name),
 *		 JSON_OPTIONAL(struct plan, has_name)},
 *	};
 *	const struct json_table plan_table = JSON_TABLE(struct plan, fields);
 */

struct json_field;

/* How a kind of value is read into and written from a struct. `object` is the
 * struct the field lies in, at `field->offset`. */
struct json_type {
	int (*decode)(const struct json_at *at, const struct json_field *field,
		      void *object, struct diag *diag);
	/* Gives a new reference, or returns -errno. */
	int (*encode)(const struct json_field *field, const void *object,
		      json_t **ret_value);
};

struct json_field {
	const char *key; /* NULL for the item of an array */
	const struct json_type *type;
	size_t offset;
	size_t size; /* of the member in bytes; of one item for an array */
	int64_t min; /* integer: value; text: bytes; array: items */
	int64_t max;
	const void *detail;    /* the type's own: see the macros below */
	size_t count_offset;   /* array: where the size_t count lies */
	size_t present_offset; /* optional key: where its bool lies; 0: required */
};

struct json_table {
	const struct json_field *fields;
	size_t count;
	size_t size; /* of the struct */
};

/* What a text must be, beside its length. */
struct json_rule {
	const char *expected; /* "a clean absolute path": "not …" is the refusal */
	bool (*is_valid)(const char *text);
};

extern const struct json_type json_type_integer; /* int64_t */
extern const struct json_type json_type_boolean; /* bool */
extern const struct json_type json_type_text;    /* char[]; detail: json_rule */
extern const struct json_type json_type_literal; /* nothing; detail: the text */
extern const struct json_type json_type_choice;  /* int; detail: the names */
extern const struct json_type json_type_object;  /* struct; detail: json_table */
extern const struct json_type json_type_array;   /* items; detail: json_field */

/* The rules every format shares. */
extern const struct json_rule json_rule_digest;  /* 64 lower-case hex digits */
extern const struct json_rule json_rule_path;    /* clean absolute path */
extern const struct json_rule json_rule_ipv4;    /* canonical IPv4 literal */
extern const struct json_rule json_rule_address; /* canonical IPv4 or IPv6 */
extern const struct json_rule json_rule_ascii;   /* printable ASCII, no escape */
/* A name for accounts, labels and tables: [a-z] first, then [a-z0-9_-]. */
extern const struct json_rule json_rule_name;

#define JSON_MEMBER_SIZE(struct_, member) sizeof(((struct_ *)NULL)->member)

/* 0 where `condition_` holds; does not compile where it does not. A row whose type
 * is not its member's would write past it. */
#define JSON_REQUIRE(condition_) (0 * sizeof(char[(condition_) ? 1 : -1]))
#define JSON_IS_TYPE(struct_, member_, type_)                                            \
	__builtin_types_compatible_p(__typeof__(((struct_ *)NULL)->member_), type_)
#define JSON_OFFSET(struct_, member_, type_)                                             \
	(offsetof(struct_, member_) + JSON_REQUIRE(JSON_IS_TYPE(struct_, member_, type_)))

#define JSON_LITERAL(key_, text_)                                                        \
	.key = (key_), .type = &json_type_literal, .detail = (text_)
#define JSON_INTEGER(struct_, member_, min_, max_)                                       \
	.key = #member_, .type = &json_type_integer,                                     \
	.offset = JSON_OFFSET(struct_, member_, int64_t), .size = sizeof(int64_t),       \
	.min = (min_), .max = (max_)
#define JSON_BOOLEAN(struct_, member_)                                                   \
	.key = #member_, .type = &json_type_boolean,                                     \
	.offset = JSON_OFFSET(struct_, member_, bool), .size = sizeof(bool)
/* At most the member's size less its NUL; `rule_` may be NULL. */
#define JSON_TEXT(struct_, member_, min_, rule_)                                         \
	.key = #member_, .type = &json_type_text,                                        \
	.offset =                                                                        \
		JSON_OFFSET(struct_, member_, char[JSON_MEMBER_SIZE(struct_, member_)]), \
	.size = JSON_MEMBER_SIZE(struct_, member_), .min = (min_),                       \
	.max = (int64_t)JSON_MEMBER_SIZE(struct_, member_) - 1, .detail = (rule_)
#define JSON_DIGEST(struct_, member_)                                                    \
	JSON_TEXT(struct_, member_, DIGEST_TEXT_SIZE - 1, &json_rule_digest)
/* An int that indexes `names_`, an array of texts that ends with NULL. */
#define JSON_CHOICE(struct_, member_, names_)                                            \
	.key = #member_, .type = &json_type_choice,                                      \
	.offset = JSON_OFFSET(struct_, member_, int), .size = sizeof(int),               \
	.detail = (names_)
#define JSON_OBJECT(struct_, member_, table_)                                            \
	.key = #member_, .type = &json_type_object,                                      \
	.offset = offsetof(struct_, member_),                                            \
	.size = JSON_MEMBER_SIZE(struct_, member_), .detail = (table_)
/* A C array member with a size_t count beside it. `item_` is a field without
 * key at offset 0: one of the JSON_ITEM_... below. */
#define JSON_ARRAY(struct_, member_, count_, item_, min_)                                \
	.key = #member_, .type = &json_type_array, .offset = offsetof(struct_, member_), \
	.size = JSON_MEMBER_SIZE(struct_, member_[0]), .min = (min_),                    \
	.max = (int64_t)(JSON_MEMBER_SIZE(struct_, member_) /                            \
			 JSON_MEMBER_SIZE(struct_, member_[0])),                         \
	.detail = (item_), .count_offset = JSON_OFFSET(struct_, count_, size_t)
#define JSON_ITEM_OBJECT(struct_, table_)                                                \
	.type = &json_type_object, .size = sizeof(struct_), .detail = (table_)
#define JSON_ITEM_TEXT(size_, min_, rule_)                                               \
	.type = &json_type_text, .size = (size_), .min = (min_),                         \
	.max = (int64_t)(size_)-1, .detail = (rule_)
#define JSON_ITEM_CHOICE(names_)                                                         \
	.type = &json_type_choice, .size = sizeof(int), .detail = (names_)
/* Added to a row whose key may be absent: `present_` is a bool member of the
 * struct, not its first. */
#define JSON_OPTIONAL(struct_, present_)                                                 \
	.present_offset = JSON_OFFSET(struct_, present_, bool) +                         \
			  JSON_REQUIRE(offsetof(struct_, present_) > 0)

#define JSON_TABLE(struct_, fields_)                                                     \
	{                                                                                \
		.fields = (fields_), .count = ARRAY_SIZE(fields_),                       \
		.size = sizeof(struct_)                                                  \
	}

/* Decodes an object value into `ret_object` (`table->size` bytes, plain data,
 * unused parts zero). It changes only on success. */
int json_table_decode(const struct json_at *at, const struct json_table *table,
		      void *ret_object, struct diag *diag);

/* json_parse() and json_table_decode() in one. */
int json_table_parse(const void *data, size_t size, size_t limit, const char *name,
		     const struct json_table *table, void *ret_object, struct diag *diag);

/* The same for a document that was written for keeping (SPEC 3): the bytes must
 * be exactly what json_table_write() gives for what they say. */
int json_table_parse_kept(const void *data, size_t size, size_t limit, const char *name,
			  const struct json_table *table, void *ret_object,
			  struct diag *diag);

/* Encodes `object`; the caller owns the value. Fails ("could not tell") for want of
 * memory, or with -EILSEQ for a text that is not UTF-8. */
int json_table_encode(const struct json_table *table, const void *object,
		      json_t **ret_value, struct diag *diag);

/* The canonical bytes of `object` (see canonical_write()). */
int json_table_write(const struct json_table *table, const void *object,
		     struct bytes *ret_bytes, struct diag *diag);

/* Whether `text` is an absolute path without "//", "/./", "/../", trailing slash
 * or control character; "/" itself is one. */
bool json_is_clean_path(const char *text);

#endif
