/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A time as people read it. */
#ifndef COMMON_MOMENT_H
#define COMMON_MOMENT_H

#include <stdint.h>

#define MOMENT_SIZE 32

/* Seconds since 1970 as RFC 3339 in UTC, "2027-01-15T08:00:00Z"; a time that it cannot
 * write (its years have four digits) as the number. Returns `ret_text`, which has
 * MOMENT_SIZE bytes. */
char *moment_format(int64_t at_unix, char ret_text[MOMENT_SIZE]);

#endif
