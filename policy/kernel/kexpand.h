/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of a form with what anonymous sets and chains hold. Inside kdiff only. */
#ifndef POLICY_KERNEL_KEXPAND_H
#define POLICY_KERNEL_KEXPAND_H

#include "common/buffer.h"
#include "policy/kernel/kform.h"

struct kexpand_text {
	const char *data;
	size_t size;
};

struct kexpand {
	const struct kform *form;
	struct buffer store;
	size_t *starts;        /* of each line's text in `store`; one more at the end */
	size_t *sets, *chains; /* the lines of anonymous ones, by number */
	size_t set_count, chain_count;
};

/* `*ret_lines` starts as all zero. Returns 0 or -ENOMEM. */
int kexpand_form(const struct kform *form, struct kexpand *ret_lines);
void kexpand_release(struct kexpand *lines);

struct kexpand_text kexpand_line(const struct kexpand *lines, size_t index);

/* Whether a line is of an anonymous set or chain. */
bool kexpand_is_anonymous(const struct kexpand *lines, size_t index);

/* The place of a rule in its chain, from 1. */
size_t kexpand_place(const struct kform *form, size_t index);

/* The order of two lines by their second words, then their third: the name and type of
 * objects. */
int kexpand_compare_names(const struct kexpand *a, size_t index_a,
			  const struct kexpand *b, size_t index_b);

/* The key of an element's line, as people write it. */
void kexpand_put_element(struct buffer *text, const struct kform *form, size_t index);

#endif
