/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decimal numbers in text: digits only. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdint.h>

/* Parses an unsigned decimal without sign, blank or leading zero, from `min`
 * to `max`. Returns 0, -EINVAL (not such a number) or -ERANGE. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

#endif
