/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new private file: all of it under its name, or nothing. */
#ifndef POLICY_NET_POLICY_NEWFILE_H
#define POLICY_NET_POLICY_NEWFILE_H

#include <stddef.h>

#include "common/diag.h"

/* Writes `size` bytes to the new file `path` (clean, absolute, in a protected
 * folder), mode 0600, synced. A name that is taken is refused: a profile holds the
 * only key with which records made under it can be verified. */
int newfile_write(const char *path, const void *data, size_t size, struct diag *diag);

#endif
