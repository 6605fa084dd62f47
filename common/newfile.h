/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new file: all of it under its name, or nothing. */
#ifndef COMMON_NEWFILE_H
#define COMMON_NEWFILE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/diag.h"

/* Writes `size` bytes to the new file `path` (clean, absolute, in a protected
 * folder) with that mode, synced. A name that is taken is refused, with `advice`;
 * nothing is ever replaced. */
int newfile_write(const char *path, mode_t mode, const void *data, size_t size,
		  const char *advice, struct diag *diag);

#endif
