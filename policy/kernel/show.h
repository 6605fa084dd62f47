/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is loaded, for a person. */
#ifndef POLICY_KERNEL_SHOW_H
#define POLICY_KERNEL_SHOW_H

#include <stdint.h>

#include "common/buffer.h"

/* Describes the inet table `table`: guard, open or expired window, or neither; what is
 * left of the window on the wall clock (`now_ms`, milliseconds since 1970) and on the
 * kernel's; packets for each rule. It reads and judges nothing: net-policy diff does.
 * A table that is not there is refused, one that cannot be listed "could not tell". */
int show_table(const char *table, int64_t now_ms, struct buffer *out, struct diag *diag);

#endif
