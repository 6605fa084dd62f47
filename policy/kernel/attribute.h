/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink attributes, walked inside the bytes that were received. */
#ifndef POLICY_KERNEL_ATTRIBUTE_H
#define POLICY_KERNEL_ATTRIBUTE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/netlink.h>

/* Netlink pads everything to 4 bytes. */
#define ATTRIBUTE_ALIGN(size) (((size_t)(size) + 3) & ~(size_t)3)

/* NLA_TYPE_MASK: without the flags "nested" and "network order". */
#define ATTRIBUTE_TYPE 0x3fffU

/* What is left of a row of attributes. */
struct attributes {
	const uint8_t *data;
	size_t size;
};

struct attribute {
	uint16_t type;
	const uint8_t *data;
	size_t size;
};

/* Takes the next attribute. False at the end of the row, and where what follows
 * is no attribute: `rest->size` is then not 0. */
static inline bool attribute_next(struct attributes *rest,
				  struct attribute *ret_attribute)
{
	struct nlattr header;
	size_t step;

	if (rest->size < sizeof(header))
		return false;
	memcpy(&header, rest->data, sizeof(header));
	if (header.nla_len < sizeof(header) || header.nla_len > rest->size)
		return false;
	*ret_attribute = (struct attribute){
		.type = header.nla_type & ATTRIBUTE_TYPE,
		.data = rest->data + sizeof(header),
		.size = header.nla_len - sizeof(header),
	};
	step = ATTRIBUTE_ALIGN(header.nla_len);
	if (step > rest->size)
		step = rest->size;
	rest->data += step;
	rest->size -= step;
	return true;
}

/* The attributes inside one. */
static inline struct attributes attribute_inside(const struct attribute *attribute)
{
	return (struct attributes){attribute->data, attribute->size};
}

/* A number in network order; false if it is not of that size. */
static inline bool attribute_u32(const struct attribute *attribute, uint32_t *ret_value)
{
	if (attribute->size != sizeof(*ret_value))
		return false;
	memcpy(ret_value, attribute->data, sizeof(*ret_value));
	*ret_value = be32toh(*ret_value);
	return true;
}

static inline bool attribute_u64(const struct attribute *attribute, uint64_t *ret_value)
{
	if (attribute->size != sizeof(*ret_value))
		return false;
	memcpy(ret_value, attribute->data, sizeof(*ret_value));
	*ret_value = be64toh(*ret_value);
	return true;
}

/* A string with its NUL inside and nothing after it; NULL if it is not. */
static inline const char *attribute_string(const struct attribute *attribute)
{
	if (!attribute->size || memchr(attribute->data, 0, attribute->size) !=
					attribute->data + attribute->size - 1)
		return NULL;
	return (const char *)attribute->data;
}

#endif
