// SPDX-License-Identifier: GPL-2.0-or-later
// common/diag: the first cause stands, kinds reach exit statuses, text is clean.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/diag.h"

static void first_cause_stands(void **state)
{
	struct diag diag = {0};
	char line[256];

	(void)state;
	assert_int_equal(diag_refuse(&diag, "a", "first"), -EINVAL);
	assert_int_equal(diag_fail(&diag, ENOSPC, "b", "second"), -ENOSPC);
	assert_string_equal(diag_render(&diag, line, sizeof(line)), "a: first");
	assert_int_equal(diag_exit_status(&diag), EXIT_STATUS_REFUSED);
}

static void kinds_reach_their_exit_status(void **state)
{
	struct diag none = {0}, usage = {0}, failed = {0};

	(void)state;
	diag_usage(&usage, NULL, "x");
	diag_fail(&failed, 0, NULL, "x");
	assert_int_equal(diag_exit_status(&usage), EXIT_STATUS_USAGE);
	assert_int_equal(diag_exit_status(&failed), EXIT_STATUS_UNDECIDED);
	assert_int_equal(diag_exit_status(&none), EXIT_STATUS_UNDECIDED);
}

static void nothing_forges_a_line(void **state)
{
	struct diag diag = {0};
	char line[256];

	(void)state;
	diag_refuse(&diag, "a\nb", "\x1b[2J%s", "\xc3\xa9");
	diag_prefix(&diag, "f\r");
	assert_string_equal(diag_render(&diag, line, sizeof(line)), "f?: a?b: ?[2J??");
}

static void failure_names_its_errno(void **state)
{
	struct diag diag = {0};

	(void)state;
	assert_int_equal(diag_fail(&diag, ENOSPC, NULL, "write"), -ENOSPC);
	assert_string_equal(diag.text, "write: No space left on device");
}

static void long_text_is_cut(void **state)
{
	char text[2 * DIAG_TEXT_SIZE];
	struct diag diag = {0};

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	diag_refuse(&diag, text, "%s", text);
	diag_prefix(&diag, text);
	assert_int_equal(strlen(diag.place), DIAG_PLACE_SIZE - 1);
	assert_int_equal(strlen(diag.text), DIAG_TEXT_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_cause_stands),
		cmocka_unit_test(kinds_reach_their_exit_status),
		cmocka_unit_test(nothing_forges_a_line),
		cmocka_unit_test(failure_names_its_errno),
		cmocka_unit_test(long_text_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
