/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the form says beside its lines. Inside kform only. */
#ifndef POLICY_KERNEL_KDESCRIBE_H
#define POLICY_KERNEL_KDESCRIBE_H

#include "policy/kernel/kform.h"
#include "policy/kernel/kparse.h"

/* All return 0 or -ENOMEM. */

/* Fills `*described`, which held nothing, but for its uses. */
int kdescribe_chain(struct kform_chain *described, const struct kparse_chain *chain);

/* Adds an expression to those that the chain's rules use, once. */
int kdescribe_use(struct kform_chain *chain, const char *name, struct attributes data);

/* Fills `form->timed`. */
int kdescribe_timed(const struct kparse *parse, struct kform *form);

void kdescribe_release(struct kform_chain *chain);

#endif
