/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text in XML and HTML. */
#ifndef VERIFIER_MARKUP_H
#define VERIFIER_MARKUP_H

#include "common/buffer.h"

/* Adds `text` with the five characters that mark up escaped; what is neither
 * printable ASCII nor a blank becomes '?'. Safe in elements and in attributes. */
void markup_add(struct buffer *out, const char *text);

#endif
