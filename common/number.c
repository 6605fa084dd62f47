// SPDX-License-Identifier: GPL-2.0-or-later
// Decimal numbers in text: digits only.
#include "common/number.h"

#include <errno.h>

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *digit;

	if (!*text || (text[0] == '0' && text[1]))
		return -EINVAL;
	for (digit = text; *digit; digit++)
		if (*digit < '0' || *digit > '9')
			return -EINVAL;
	for (digit = text; *digit; digit++)
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*digit - '0'), &value))
			return -ERANGE;
	if (value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}
