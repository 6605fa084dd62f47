/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the attributes of nf_tables are called, and how each is written. */
#ifndef POLICY_KERNEL_KSHAPE_H
#define POLICY_KERNEL_KSHAPE_H

#include <stddef.h>
#include <stdint.h>

/* How an attribute's value is written; a value that is not of its kind is written
 * as bytes, and so is every attribute that has no field. */
enum kshape_kind {
	KSHAPE_UNKNOWN = 0, /* bytes, under its number */
	KSHAPE_DROP,        /* not part of the form: what moves by itself */
	KSHAPE_U8,
	KSHAPE_U32,
	KSHAPE_S32,
	KSHAPE_U64,
	KSHAPE_FLAGS,       /* 32 bits, hexadecimal */
	KSHAPE_QUOTA_FLAGS, /* without "depleted", which packets set */
	KSHAPE_BYTES,
	KSHAPE_TEXT,        /* a string */
	KSHAPE_SET_NAME,    /* may be an anonymous set's */
	KSHAPE_CHAIN_NAME,  /* may be an anonymous chain's */
	KSHAPE_DATA,        /* a register's value, or a verdict */
	KSHAPE_NEST,        /* attributes of `inside` */
	KSHAPE_EXPRESSION,  /* one expression */
	KSHAPE_EXPRESSIONS, /* a list of them */
	KSHAPE_DEVICES,     /* a list of names, sorted */
	KSHAPE_LIST,        /* a list of elements, each of `inside` */
};

struct kshape_field {
	const char *name;
	uint8_t kind; /* enum kshape_kind */
	const struct kshape *inside;
};

/* `fields[type]` for each attribute type below `count`. */
struct kshape {
	const struct kshape_field *fields;
	size_t count;
};

extern const struct kshape kshape_table, kshape_chain, kshape_set, kshape_element,
	kshape_rule, kshape_object, kshape_flowtable, kshape_verdict;

/* The attributes of an expression, by its name; NULL if we do not know it. */
const struct kshape *kshape_expression(const char *name);

/* The attributes of an object, by its NFT_OBJECT_... number; NULL likewise. */
const struct kshape *kshape_object_data(uint32_t type);

#endif
