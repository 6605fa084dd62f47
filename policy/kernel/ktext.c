// SPDX-License-Identifier: GPL-2.0-or-later
// Attributes of nf_tables as text, of one form for one content.
#include "policy/kernel/ktext.h"

#include <string.h>

#include <linux/netfilter/nf_tables.h>

#include "common/digest.h"

/* Deeper than the kernel nests anything; what is below is written as bytes. */
#define KTEXT_DEPTH_MAX 16

#define KTEXT_PIECE 64 /* bytes made hexadecimal at once */

#define KTEXT_DEVICES_MAX 256 /* NFT_NETDEVICE_MAX of the kernel */

struct writer {
	struct buffer *text;
	const struct ktext_hooks *hooks;
	unsigned int depth;
};

void ktext_put_string(struct buffer *text, const char *string)
{
	buffer_add(text, string, strlen(string));
}

void ktext_put_number(struct buffer *text, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buffer_add(text, digits + at, sizeof(digits) - at);
}

void ktext_put_signed(struct buffer *text, int64_t value)
{
	if (value < 0)
		buffer_add(text, "-", 1);
	ktext_put_number(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void ktext_put_hex(struct buffer *text, const uint8_t *data, size_t size)
{
	char digits[2 * KTEXT_PIECE + 1];

	for (size_t done = 0; done < size; done += KTEXT_PIECE) {
		size_t piece = size - done < KTEXT_PIECE ? size - done : KTEXT_PIECE;

		digest_format_hex(data + done, piece, digits);
		buffer_add(text, digits, 2 * piece);
	}
}

static bool is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./:@+";

	if (!*name || name[strspn(name, plain)])
		return false;
	return strncmp(name, "__set", 5) != 0 && strncmp(name, "__map", 5) != 0 &&
	       strncmp(name, "__chain", 7) != 0;
}

void ktext_put_name(struct buffer *text, const char *name)
{
	if (is_plain(name)) {
		ktext_put_string(text, name);
		return;
	}
	buffer_add(text, "\"", 1);
	for (; *name; name++) {
		uint8_t byte = (uint8_t)*name;

		if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
			buffer_add(text, name, 1);
			continue;
		}
		buffer_add(text, "\\x", 2);
		ktext_put_hex(text, &byte, 1);
	}
	buffer_add(text, "\"", 1);
}

/* --- values -------------------------------------------------------------------- */

static void put_row(struct writer *writer, struct attributes row,
		    const struct kshape *shape);

static void put_raw(struct writer *writer, const struct attribute *attribute)
{
	buffer_add(writer->text, "?", 1);
	ktext_put_hex(writer->text, attribute->data, attribute->size);
}

/* Writes a number or string. False: it is not of that kind. */
static bool put_plain(struct writer *writer, const struct attribute *attribute,
		      unsigned int kind)
{
	struct buffer *text = writer->text;
	uint32_t value = 0;
	uint64_t large = 0;
	const char *string;

	switch (kind) {
	case KSHAPE_U8:
		if (attribute->size != 1)
			return false;
		ktext_put_number(text, attribute->data[0]);
		return true;
	case KSHAPE_U32:
	case KSHAPE_S32:
		if (!attribute_u32(attribute, &value))
			return false;
		ktext_put_signed(text,
				 kind == KSHAPE_S32 ? (int32_t)value : (int64_t)value);
		return true;
	case KSHAPE_FLAGS:
	case KSHAPE_QUOTA_FLAGS:
		if (!attribute_u32(attribute, &value))
			return false;
		if (kind == KSHAPE_QUOTA_FLAGS)
			value &= ~(uint32_t)NFT_QUOTA_F_DEPLETED;
		value = htobe32(value);
		buffer_add(text, "0x", 2);
		ktext_put_hex(text, (const uint8_t *)&value, sizeof(value));
		return true;
	case KSHAPE_U64:
		if (!attribute_u64(attribute, &large))
			return false;
		ktext_put_number(text, large);
		return true;
	case KSHAPE_BYTES:
		ktext_put_hex(text, attribute->data, attribute->size);
		return true;
	default:
		break;
	}
	string = attribute_string(attribute);
	if (!string)
		return false;
	if (kind == KSHAPE_TEXT)
		ktext_put_name(text, string);
	else
		writer->hooks->put_reference(text, kind, string, writer->hooks->context);
	return true;
}

/* A value is one attribute with its bytes; a verdict has a number of its own. */
static bool put_data(struct writer *writer, const struct attribute *attribute)
{
	struct attributes rest = attribute_inside(attribute);
	struct attribute only;

	if (!attribute_next(&rest, &only) || rest.size)
		return false;
	if (only.type == NFTA_DATA_VALUE) {
		ktext_put_hex(writer->text, only.data, only.size);
		return true;
	}
	if (only.type != NFTA_DATA_VERDICT)
		return false;
	ktext_put_string(writer->text, "verdict(");
	put_row(writer, attribute_inside(&only), &kshape_verdict);
	buffer_add(writer->text, ")", 1);
	return true;
}

/* "NAME(attributes)"; attributes of an expression we do not know, as bytes. */
static bool put_expression(struct writer *writer, const struct attribute *attribute)
{
	struct attributes rest = attribute_inside(attribute), data = {0};
	struct attribute part;
	const char *name = NULL;
	const struct kshape *shape;
	bool has_data = false;

	while (attribute_next(&rest, &part)) {
		if (part.type == NFTA_EXPR_NAME && !name) {
			name = attribute_string(&part);
			if (!name)
				return false;
		} else if (part.type == NFTA_EXPR_DATA && !has_data) {
			data = attribute_inside(&part);
			has_data = true;
		} else {
			return false;
		}
	}
	if (!name || rest.size)
		return false;
	if (writer->hooks->on_expression)
		writer->hooks->on_expression(name, data, writer->hooks->context);
	shape = kshape_expression(name);
	ktext_put_name(writer->text, name);
	buffer_add(writer->text, "(", 1);
	if (shape) {
		put_row(writer, data, shape);
	} else if (data.size) {
		buffer_add(writer->text, "?", 1);
		ktext_put_hex(writer->text, data.data, data.size);
	}
	buffer_add(writer->text, ")", 1);
	return true;
}

static int compare_devices(const void *left, const void *right)
{
	const struct attribute *a = left, *b = right;
	size_t shorter = a->size < b->size ? a->size : b->size;
	int order = memcmp(a->data, b->data, shorter);

	if (order)
		return order;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

/* Their order means nothing. A prefix ("eth*") has another number than a name. */
static bool put_devices(struct writer *writer, const struct attribute *attribute)
{
	struct attributes rest = attribute_inside(attribute);
	struct attribute devices[KTEXT_DEVICES_MAX];
	size_t count = 0;

	while (count < KTEXT_DEVICES_MAX && attribute_next(&rest, &devices[count])) {
		if (!attribute_string(&devices[count]))
			return false;
		count++;
	}
	if (rest.size)
		return false;
	qsort(devices, count, sizeof(devices[0]), compare_devices);
	buffer_add(writer->text, "(", 1);
	for (size_t i = 0; i < count; i++) {
		buffer_add(writer->text, i ? " " : "", i ? 1 : 0);
		if (devices[i].type != NFTA_DEVICE_NAME) {
			buffer_add(writer->text, "#", 1);
			ktext_put_number(writer->text, devices[i].type);
			buffer_add(writer->text, "=", 1);
		}
		ktext_put_name(writer->text, attribute_string(&devices[i]));
	}
	buffer_add(writer->text, ")", 1);
	return true;
}

/* The parts of a list, a blank between them. False: one is not as it must be. */
static bool put_list(struct writer *writer, const struct attribute *attribute,
		     const struct kshape *inside)
{
	struct attributes rest = attribute_inside(attribute);
	struct attribute part;
	bool is_first = true;

	while (attribute_next(&rest, &part)) {
		if (part.type != NFTA_LIST_ELEM)
			return false;
		if (!is_first)
			buffer_add(writer->text, " ", 1);
		is_first = false;
		if (inside) {
			buffer_add(writer->text, "(", 1);
			put_row(writer, attribute_inside(&part), inside);
			buffer_add(writer->text, ")", 1);
		} else if (!put_expression(writer, &part)) {
			return false;
		}
	}
	return rest.size == 0;
}

/* Writes what follows a field's name. False: not of its kind. */
static bool put_value(struct writer *writer, const struct attribute *attribute,
		      const struct kshape_field *field)
{
	bool is_good;

	switch (field->kind) {
	case KSHAPE_NEST:
	case KSHAPE_LIST:
	case KSHAPE_EXPRESSIONS:
		/* The expressions of a rule stand there without a name. */
		if (*field->name)
			buffer_add(writer->text, "(", 1);
		is_good = true;
		if (field->kind == KSHAPE_NEST)
			put_row(writer, attribute_inside(attribute), field->inside);
		else
			is_good = put_list(writer, attribute, field->inside);
		if (*field->name)
			buffer_add(writer->text, ")", 1);
		return is_good;
	case KSHAPE_DEVICES:
		return put_devices(writer, attribute);
	default:
		break;
	}
	buffer_add(writer->text, "=", 1);
	if (field->kind == KSHAPE_DATA)
		return put_data(writer, attribute);
	if (field->kind == KSHAPE_EXPRESSION)
		return put_expression(writer, attribute);
	return put_plain(writer, attribute, field->kind);
}

static void put_attribute(struct writer *writer, const struct attribute *attribute,
			  const struct kshape *shape)
{
	static const struct kshape_field unknown = {0};
	const struct kshape_field *field = attribute->type < shape->count
						   ? &shape->fields[attribute->type]
						   : &unknown;
	struct buffer *text = writer->text;
	size_t start;

	if (field->kind == KSHAPE_DROP)
		return;
	if (text->bytes.size && text->bytes.data[text->bytes.size - 1] != '(')
		buffer_add(text, " ", 1);
	if (field->kind == KSHAPE_UNKNOWN) {
		buffer_add(text, "#", 1);
		ktext_put_number(text, attribute->type);
		buffer_add(text, "=", 1);
		ktext_put_hex(text, attribute->data, attribute->size);
		return;
	}
	ktext_put_string(text, field->name);
	start = text->bytes.size;
	if (!put_value(writer, attribute, field) && !text->is_short) {
		/* Not of its kind: all of it as bytes, and nothing of the attempt. */
		text->bytes.size = start;
		put_raw(writer, attribute);
	}
}

static void put_row(struct writer *writer, struct attributes row,
		    const struct kshape *shape)
{
	struct attribute attribute;

	if (++writer->depth <= KTEXT_DEPTH_MAX)
		while (attribute_next(&row, &attribute))
			put_attribute(writer, &attribute, shape);
	writer->depth--;
	if (row.size) {
		buffer_add(writer->text, "?", 1);
		ktext_put_hex(writer->text, row.data, row.size);
	}
}

void ktext_put_attributes(struct buffer *text, struct attributes row,
			  const struct kshape *shape, const struct ktext_hooks *hooks)
{
	struct writer writer = {.text = text, .hooks = hooks};

	put_row(&writer, row, shape);
}
