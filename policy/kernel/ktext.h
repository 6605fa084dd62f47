/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of nf_tables as text, of one form for one content. */
#ifndef POLICY_KERNEL_KTEXT_H
#define POLICY_KERNEL_KTEXT_H

#include <stdbool.h>

#include "common/own.h"
#include "policy/kernel/attribute.h"
#include "policy/kernel/kshape.h"

/* Text that grows. Once memory has run out it takes no more: look at
 * `is_no_memory` when all is written. */
struct ktext {
	struct bytes bytes;
	size_t capacity;
	bool is_no_memory;
};

void ktext_release(struct ktext *text);

void ktext_put(struct ktext *text, const void *data, size_t size);
void ktext_put_string(struct ktext *text, const char *string);
void ktext_put_number(struct ktext *text, uint64_t value);
void ktext_put_signed(struct ktext *text, int64_t value);
void ktext_put_hex(struct ktext *text, const uint8_t *data, size_t size);

/* A name of somebody's: as it is if it is plain, else in quotes with \xHH for
 * what is not printable. What looks like an anonymous name is quoted too, so
 * that `__set0` without quotes is always ours. */
void ktext_put_name(struct ktext *text, const char *name);

/* What the writer asks of its user. */
struct ktext_hooks {
	/* Writes the name of a set or chain that is referred to. */
	void (*put_reference)(struct ktext *text, enum kshape_kind kind, const char *name,
			      void *context);
	/* Told of each expression written; may be NULL. */
	void (*on_expression)(const char *name, struct attributes data, void *context);
	void *context;
};

/* Writes each attribute that is part of the form, a blank before it:
 * "name=value", "name(attributes)", "#NUMBER=bytes" where we know none, and
 * "?bytes" where the row ends in what is no attribute. */
void ktext_put_attributes(struct ktext *text, struct attributes row,
			  const struct kshape *shape, const struct ktext_hooks *hooks);

#endif
