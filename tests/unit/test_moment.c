// SPDX-License-Identifier: GPL-2.0-or-later
// common/moment: RFC 3339 in UTC, whatever the time zone is.
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <time.h>

#include "common/moment.h"

static void assert_reads(int64_t at_unix, const char *wanted)
{
	char text[MOMENT_SIZE];

	assert_string_equal(moment_format(at_unix, text), wanted);
}

static void times_are_utc(void **state)
{
	(void)state;
	assert_int_equal(setenv("TZ", "Asia/Kathmandu", 1), 0);
	tzset();
	assert_reads(0, "1970-01-01T00:00:00Z");
	assert_reads(1800000000, "2027-01-15T08:00:00Z");
	assert_reads(951782400, "2000-02-29T00:00:00Z");
}

static void four_digits_are_the_end(void **state)
{
	(void)state;
	assert_reads(INT64_C(253402300799), "9999-12-31T23:59:59Z");
	assert_reads(INT64_C(253402300800), "253402300800");
	assert_reads(-1, "-1");
	assert_reads(INT64_MIN, "-9223372036854775808");
	assert_reads(INT64_MAX, "9223372036854775807");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_utc),
		cmocka_unit_test(four_digits_are_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
