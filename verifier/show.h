/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of a store as text for people. No verdict is in it. */
#ifndef VERIFIER_SHOW_H
#define VERIFIER_SHOW_H

#include "common/buffer.h"
#include "verifier/object.h"

/* Adds the object's text: what it is about, and for a record its probes by
 * phase as it claims them. */
void show_object(const struct object *object, struct buffer *buffer);

#endif
