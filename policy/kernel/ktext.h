/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of nf_tables as text, of one form for one content. */
#ifndef POLICY_KERNEL_KTEXT_H
#define POLICY_KERNEL_KTEXT_H

#include <stdbool.h>

#include "common/buffer.h"
#include "policy/kernel/attribute.h"
#include "policy/kernel/kshape.h"

void ktext_put_string(struct buffer *text, const char *string);
void ktext_put_number(struct buffer *text, uint64_t value);
void ktext_put_signed(struct buffer *text, int64_t value);
void ktext_put_hex(struct buffer *text, const uint8_t *data, size_t size);

/* A name of somebody's: as it is if it is plain, else in quotes with \xHH for
 * what is not printable. What looks like an anonymous name is quoted too, so
 * that `__set0` without quotes is always ours. */
void ktext_put_name(struct buffer *text, const char *name);

/* What the writer asks of its user. */
struct ktext_hooks {
	/* Writes the name of a set or chain that is referred to. */
	void (*put_reference)(struct buffer *text, enum kshape_kind kind,
			      const char *name, void *context);
	/* Told of each expression written; may be NULL. */
	void (*on_expression)(const char *name, struct attributes data, void *context);
	void *context;
};

/* Writes each attribute that is part of the form, a blank before it:
 * "name=value", "name(attributes)", "#NUMBER=bytes" where we know none, and
 * "?bytes" where the row ends in what is no attribute. */
void ktext_put_attributes(struct buffer *text, struct attributes row,
			  const struct kshape *shape, const struct ktext_hooks *hooks);

#endif
