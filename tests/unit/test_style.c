// SPDX-License-Identifier: GPL-2.0-or-later
// common/style: which part of which line is painted, and when anything is.
#include "tests/unit/unit.h"

#include <pty.h>
#include <stdlib.h>

#include "common/style.h"

#define GOOD "\033[32m"
#define BAD "\033[1;31m"
#define FAINT "\033[2m"
#define RESET "\033[0m"

static const struct style_rule rules[] = {
	{STYLE_END, " LEAK", STYLE_BAD},
	{STYLE_END, " ok", STYLE_GOOD},
	{STYLE_LINE, "- ", STYLE_BAD},
	{STYLE_AFTER, "  # ", STYLE_FAINT},
};

static void assert_paints(const char *text, const char *wanted)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	style_paint(text, rules, ARRAY_SIZE(rules), &buffer);
	assert_int_equal(buffer_take(&buffer, &bytes, &diag), 0);
	assert_string_equal(bytes.data, wanted);
}

static void each_rule_paints_its_part(void **state)
{
	(void)state;
	assert_paints("", "");
	assert_paints("nothing of it\n", "nothing of it\n");
	assert_paints("a probe ok\n", "a probe" GOOD " ok" RESET "\n");
	assert_paints("- gone\nkept", BAD "- gone" RESET "\nkept");
	assert_paints("do  # why\n", "do" FAINT "  # why" RESET "\n");
}

static void the_first_rule_counts(void **state)
{
	(void)state;
	assert_paints("- x ok", "- x" GOOD " ok" RESET);
	assert_paints("ok", "ok");
	assert_paints("a ok not at its end", "a ok not at its end");
	assert_paints(" LEAK\n\n ok", BAD " LEAK" RESET "\n\n" GOOD " ok" RESET);
}

static void a_terminal_wants_it_unless_told_otherwise(void **state)
{
	OWN(own_fd) int master = -1;
	OWN(own_fd) int slave = -1;
	int pipes[2];

	(void)state;
	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	assert_true(style_is_wanted(slave));
	assert_false(style_is_wanted(pipes[1]));
	assert_false(style_is_wanted(-1));
	assert_int_equal(setenv("NO_COLOR", "", 1), 0);
	assert_true(style_is_wanted(slave));
	assert_int_equal(setenv("NO_COLOR", "0", 1), 0);
	assert_false(style_is_wanted(slave));
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	assert_false(style_is_wanted(slave));
	assert_int_equal(unsetenv("TERM"), 0);
	assert_true(style_is_wanted(slave));
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_paints_its_part),
		cmocka_unit_test(the_first_rule_counts),
		cmocka_unit_test(a_terminal_wants_it_unless_told_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
