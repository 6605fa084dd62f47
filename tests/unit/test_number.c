// SPDX-License-Identifier: GPL-2.0-or-later
// common/number: digits only, ranges, and nothing changed on failure.
#include "tests/unit/unit.h"

#include "common/number.h"

static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int error;
		uint64_t value;
	} cases[] = {
		{"0", 0, 9, 0, 0},
		{"9", 0, 9, 0, 9},
		{"10", 0, 9, -ERANGE, 0},
		{"1", 2, 9, -ERANGE, 0},
		{"65535", 1, 65535, 0, 65535},
		{"65536", 1, 65535, -ERANGE, 0},
		{"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
		{"184467440737095516150", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999x", 0, UINT64_MAX, -EINVAL, 0},
		{"", 0, 9, -EINVAL, 0},
		{"00", 0, 9, -EINVAL, 0},
		{"01", 0, 9, -EINVAL, 0},
		{"+1", 0, 9, -EINVAL, 0},
		{"-1", 0, 9, -EINVAL, 0},
		{"-0", 0, 9, -EINVAL, 0},
		{" 1", 0, 9, -EINVAL, 0},
		{"1 ", 0, 9, -EINVAL, 0},
		{"1\n", 0, 9, -EINVAL, 0},
		{"0x1", 0, 9, -EINVAL, 0},
		{"1e1", 0, 99, -EINVAL, 0},
		{"1.0", 0, 9, -EINVAL, 0},
		{"1,0", 0, 99, -EINVAL, 0},
		{"\xd9\xa1", 0, 9, -EINVAL, 0},
		{"a", 0, 9, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 77;

		assert_int_equal(
			number_parse(cases[i].text, cases[i].min, cases[i].max, &value),
			cases[i].error);
		assert_true(value == (cases[i].error ? 77 : cases[i].value));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
