/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of the kernel form, taken apart into its attributes. Inside kdiff only. */
#ifndef POLICY_KERNEL_KLEAF_H
#define POLICY_KERNEL_KLEAF_H

#include "common/buffer.h"

#define KLEAF_PATH_SIZE 128

/* "hook priority" and "-150"; "counter" and nothing. The value points into the line. */
struct kleaf {
	char path[KLEAF_PATH_SIZE];
	const char *value;
	size_t size;
};

#define KLEAF_MAX 512

/* Takes apart `size` bytes of a line. Returns how many leaves there are, at most
 * KLEAF_MAX; what comes after those is left out. */
size_t kleaf_split(const char *line, size_t size, struct kleaf leaves[KLEAF_MAX]);

/* Writes where two lines differ, one row each: "PATH: must be A, is B". */
void kleaf_put_differences(struct buffer *text, const struct kleaf *wanted,
			   size_t wanted_count, const struct kleaf *live,
			   size_t live_count);

#endif
