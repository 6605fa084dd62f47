// SPDX-License-Identifier: GPL-2.0-or-later
// common/cli: every command line has one exit status and one line; output that
// cannot be written is noticed. Each case is a process of its own.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/cli.h"
#include "common/version.h"

static enum exit_status echo(const struct cli_values *values)
{
	for (size_t i = 0; i < values->command->option_count; i++) {
		const char *name = values->command->options[i].name;
		const char *value = cli_value(values, name);

		if (value)
			printf("%s=[%s] ", name, value);
	}
	for (size_t i = 0; i < values->operand_count; i++)
		printf("(%s)", values->operands[i]);
	return EXIT_STATUS_OK;
}

static enum exit_status refuse(const struct cli_values *values)
{
	struct diag diag = {0};

	(void)values;
	diag_refuse(&diag, "a.json: b", "not\nso");
	return cli_report(&diag);
}

static enum exit_status differ(const struct cli_values *values)
{
	(void)values;
	puts("different");
	return EXIT_STATUS_DIFFERENT;
}

static enum exit_status forget_the_cause(const struct cli_values *values)
{
	(void)values;
	return cli_report(&(struct diag){0});
}

static int kept_file;

/* With standard output closed, a file opened must not become it. */
static enum exit_status open_and_print(const struct cli_values *values)
{
	int fd = dup(kept_file);

	(void)values;
	puts("must not be in the file");
	return fd > 2 ? EXIT_STATUS_OK : EXIT_STATUS_DIFFERENT;
}

static const struct cli_option options[] = {
	{"site", "FILE", "the names on this host", true},
	{"store", "DIR", "where to keep it", false},
	{"force", NULL, "whatever happens", false},
	{"long", "a|very|long|list|of|words",
	 "what takes more than one line of eighty columns to say", false},
};

static const struct cli_command commands[] = {
	{"echo", "WORD...", 0, 3, "print what was given", options, ARRAY_SIZE(options),
	 echo},
	{"two", "A B", 2, 2, "print two words", NULL, 0, echo},
	{"refuse", NULL, 0, 0, "refuse", NULL, 0, refuse},
	{"differ", NULL, 0, 0, "differ", NULL, 0, differ},
	{"forget", NULL, 0, 0, "forget the cause", NULL, 0, forget_the_cause},
	{"open", NULL, 0, 0, "open a file", NULL, 0, open_and_print},
};
static const struct cli_program many = {"net-many", "a program for tests", commands,
					ARRAY_SIZE(commands)};

static const struct cli_command only[] = {
	{NULL, "ADDRESS PORT", 2, 2, "serve", options + 1, 2, echo},
};
static const struct cli_program single = {"net-single", "another", only, 1};

struct invocation {
	const struct cli_program *program;
	const char *words[8]; /* after the program's name; ends with NULL */
	void (*prepare)(void);
};

static int invoke(void *context)
{
	const struct invocation *invocation = context;
	char *argv[9] = {(char *)invocation->program->name};
	int argc = 1;

	for (; invocation->words[argc - 1]; argc++)
		argv[argc] = (char *)invocation->words[argc - 1];
	if (invocation->prepare)
		invocation->prepare();
	return cli_main(invocation->program, argc, argv);
}

static void run(const struct invocation *invocation, struct child_result *ret_result)
{
	struct child_spec spec = {.function = invoke,
				  .context = (void *)invocation,
				  .timeout_ms = 10 * 60 * 1000,
				  .output_limit = 1 << 16,
				  .error_limit = 1 << 16,
				  .keep_fds = &kept_file,
				  .keep_count = 1};
	struct diag diag = {0};

	assert_int_equal(child_run(&spec, ret_result, &diag), 0);
}

static void each_command_line_has_its_end(void **state)
{
	static const struct {
		struct invocation invocation;
		int status;
		const char *output, *error;
	} cases[] = {
		{{&many, {"echo", "--site", "f"}, NULL}, 0, "site=[f] ", ""},
		{{&many, {"echo", "--site=f", "a", "b", "c"}, NULL},
		 0,
		 "site=[f] (a)(b)(c)",
		 ""},
		{{&many, {"echo", "a", "--site", "f", "b"}, NULL},
		 0,
		 "site=[f] (a)(b)",
		 ""},
		{{&many, {"echo", "--site=a=b", "--force"}, NULL},
		 0,
		 "site=[a=b] force=[] ",
		 ""},
		{{&many, {"echo", "--site", "-", "-"}, NULL}, 0, "site=[-] (-)", ""},
		{{&many, {"echo", "--site", "-x"}, NULL}, 0, "site=[-x] ", ""},
		{{&many, {"echo", "--site=--force"}, NULL}, 0, "site=[--force] ", ""},
		{{&many, {"echo", "--site", "f", "--", "--store", "-x"}, NULL},
		 0,
		 "site=[f] (--store)(-x)",
		 ""},
		{{&many, {"echo", "--site", "f", ""}, NULL}, 0, "site=[f] ()", ""},
		{{&many, {"two", "a", "b"}, NULL}, 0, "(a)(b)", ""},
		{{&single, {"1.2.3.4", "80"}, NULL}, 0, "(1.2.3.4)(80)", ""},
		{{&single, {"--store", "d", "1.2.3.4", "80"}, NULL},
		 0,
		 "store=[d] (1.2.3.4)(80)",
		 ""},
		{{&many, {"--version"}, NULL}, 0, "net-many " NETPROOF_VERSION "\n", ""},
		{{&many, {"two", "--version"}, NULL},
		 0,
		 "net-many " NETPROOF_VERSION "\n",
		 ""},
		{{&single, {"--version"}, NULL},
		 0,
		 "net-single " NETPROOF_VERSION "\n",
		 ""},
		{{&many, {NULL}, NULL},
		 2,
		 "",
		 "net-many: usage: a command is missing: see --help\n"},
		{{&many, {"ech"}, NULL},
		 2,
		 "",
		 "net-many: usage: \"ech\" is not a command: see --help\n"},
		{{&many, {""}, NULL},
		 2,
		 "",
		 "net-many: usage: \"\" is not a command: see --help\n"},
		{{&many, {"--site", "f", "echo"}, NULL},
		 2,
		 "",
		 "net-many: usage: --site is not an option here: see --help\n"},
		{{&many, {"--", "echo"}, NULL},
		 2,
		 "",
		 "net-many: usage: a command is missing: see --help\n"},
		{{&many, {"echo"}, NULL},
		 2,
		 "",
		 "net-many: usage: --site is missing: see --help\n"},
		{{&many, {"echo", "--site"}, NULL},
		 2,
		 "",
		 "net-many: usage: --site wants an argument: FILE\n"},
		{{&many, {"echo", "--site", ""}, NULL},
		 2,
		 "",
		 "net-many: usage: --site wants an argument: FILE\n"},
		{{&many, {"echo", "--site="}, NULL},
		 2,
		 "",
		 "net-many: usage: --site wants an argument: FILE\n"},
		{{&many, {"echo", "--site", "--force"}, NULL},
		 2,
		 "",
		 "net-many: usage: --site wants an argument: FILE\n"},
		{{&many, {"echo", "--site", "a", "--site", "a"}, NULL},
		 2,
		 "",
		 "net-many: usage: --site is given twice\n"},
		{{&many, {"echo", "--site", "a", "--force", "--force"}, NULL},
		 2,
		 "",
		 "net-many: usage: --force is given twice\n"},
		{{&many, {"echo", "--site", "a", "--force=yes"}, NULL},
		 2,
		 "",
		 "net-many: usage: --force takes no argument\n"},
		{{&many, {"echo", "--sit", "a"}, NULL},
		 2,
		 "",
		 "net-many: usage: --sit is not an option here: see --help\n"},
		{{&many, {"echo", "--sites", "a"}, NULL},
		 2,
		 "",
		 "net-many: usage: --sites is not an option here: see --help\n"},
		{{&many, {"echo", "-site", "a"}, NULL},
		 2,
		 "",
		 "net-many: usage: -site is not an option here: see --help\n"},
		{{&many, {"echo", "-h"}, NULL},
		 2,
		 "",
		 "net-many: usage: -h is not an option here: see --help\n"},
		{{&many, {"echo", "--=a"}, NULL},
		 2,
		 "",
		 "net-many: usage: --=a is not an option here: see --help\n"},
		{{&many, {"echo", "--no\nsuch"}, NULL},
		 2,
		 "",
		 "net-many: usage: --no?such is not an option here: see --help\n"},
		{{&many, {"echo", "--site", "f", "1", "2", "3", "4"}, NULL},
		 2,
		 "",
		 "net-many: usage: \"4\" is one operand too many: see --help\n"},
		{{&many, {"two", "a"}, NULL},
		 2,
		 "",
		 "net-many: usage: A B missing: see --help\n"},
		{{&many, {"refuse", "x"}, NULL},
		 2,
		 "",
		 "net-many: usage: \"x\" is one operand too many: see --help\n"},
		{{&single, {"1.2.3.4"}, NULL},
		 2,
		 "",
		 "net-single: usage: ADDRESS PORT missing: see --help\n"},
		{{&many, {"refuse"}, NULL},
		 1,
		 "",
		 "net-many: refused: a.json: b: not?so\n"},
		{{&many, {"differ"}, NULL}, 3, "different\n", ""},
		{{&many, {"forget"}, NULL},
		 4,
		 "",
		 "net-many: could not tell: no cause was recorded\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(child_result_release) struct child_result result = {0};

		run(&cases[i].invocation, &result);
		assert_string_equal(result.output.data, cases[i].output);
		assert_string_equal(result.error.data, cases[i].error);
		assert_int_equal(result.exit_status, cases[i].status);
	}
}

static void help_is_a_screen_of_what_was_asked(void **state)
{
	static const char whole[] =
		"net-many: a program for tests\n"
		"\n"
		"usage: net-many COMMAND [OPTIONS]\n"
		"       net-many COMMAND --help\n"
		"\n"
		"  echo                    print what was given\n"
		"  two                     print two words\n"
		"  refuse                  refuse\n"
		"  differ                  differ\n"
		"  forget                  forget the cause\n"
		"  open                    open a file\n"
		"\n"
		"  --help                  print this and exit\n"
		"  --version               print the version and exit\n";
	static const char command[] =
		"net-many echo: print what was given\n"
		"\n"
		"usage: net-many echo --site FILE [--store DIR] [--force]\n"
		"                     [--long a|very|long|list|of|words] WORD...\n"
		"\n"
		"  --site FILE             the names on this host\n"
		"  --store DIR             where to keep it\n"
		"  --force                 whatever happens\n"
		"  --long a|very|long|list|of|words\n"
		"                          what takes more than one line of eighty "
		"columns to\n"
		"                          say\n"
		"  --help                  print this and exit\n"
		"  --version               print the version and exit\n";
	static const char simple[] =
		"net-single: another\n"
		"\n"
		"usage: net-single [--store DIR] [--force] ADDRESS PORT\n"
		"serve\n"
		"\n"
		"  --store DIR             where to keep it\n"
		"  --force                 whatever happens\n"
		"  --help                  print this and exit\n"
		"  --version               print the version and exit\n";
	static const char bare[] =
		"net-many refuse: refuse\n"
		"\n"
		"usage: net-many refuse\n"
		"\n"
		"  --help                  print this and exit\n"
		"  --version               print the version and exit\n";
	static const struct {
		struct invocation invocation;
		const char *output;
	} cases[] = {
		{{&many, {"--help"}, NULL}, whole},
		{{&many, {"echo", "--help"}, NULL}, command},
		{{&many, {"echo", "a", "--site", "b", "--help", "--nonsense"}, NULL},
		 command},
		{{&many, {"refuse", "--help"}, NULL}, bare},
		{{&single, {"--help"}, NULL}, simple},
	};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		OWN(child_result_release) struct child_result result = {0};

		run(&cases[c].invocation, &result);
		assert_string_equal(result.output.data, cases[c].output);
		assert_string_equal(result.error.data, "");
		assert_int_equal(result.exit_status, 0);
	}
}

static void close_output(void)
{
	close(1);
}

static void close_all(void)
{
	for (int fd = 0; fd < 3; fd++)
		close(fd);
}

static void fill_output(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	dup2(full, 1);
	close(full);
}

static void break_output(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		_exit(99);
	dup2(ends[1], 1);
	close(ends[0]);
	close(ends[1]);
}

#define NOT_WRITTEN "could not tell: standard output could not be written: "

static void lost_output_is_no_success(void **state)
{
	static void (*const ways[])(void) = {close_output, fill_output, break_output};
	static const char *const reasons[] = {
		"net-many: " NOT_WRITTEN "Bad file descriptor\n",
		"net-many: " NOT_WRITTEN "No space left on device\n",
		"net-many: " NOT_WRITTEN "Broken pipe\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct invocation cases[] = {
			{&many, {"two", "a", "b"}, ways[i]},
			{&many, {"--help"}, ways[i]},
			{&many, {"--version"}, ways[i]},
		};

		for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
			OWN(child_result_release) struct child_result result = {0};

			run(&cases[c], &result);
			assert_int_equal(result.signal, 0);
			assert_string_equal(result.error.data, reasons[i]);
			assert_int_equal(result.exit_status, 4);
		}
	}
}

static void lost_output_keeps_another_status(void **state)
{
	const struct invocation differing = {&many, {"differ"}, fill_output};
	const struct invocation refusing = {&many, {"refuse"}, close_output};
	OWN(child_result_release) struct child_result one = {0}, two = {0};

	(void)state;
	run(&differing, &one);
	assert_int_equal(one.exit_status, 3);
	assert_string_equal(one.error.data,
			    "net-many: " NOT_WRITTEN "No space left on device\n");
	run(&refusing, &two);
	assert_int_equal(two.exit_status, 1);
	assert_string_equal(two.error.data, "net-many: refused: a.json: b: not?so\n");
}

static void nothing_printed_is_nothing_lost(void **state)
{
	const struct invocation quiet = {&many, {"refuse"}, fill_output};
	OWN(child_result_release) struct child_result result = {0};

	(void)state;
	run(&quiet, &result);
	assert_int_equal(result.exit_status, 1);
}

static void no_file_becomes_standard_output(void **state)
{
	static void (*const ways[])(void) = {close_output, close_all};
	char text[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct invocation opening = {&many, {"open"}, ways[i]};
		OWN(child_result_release) struct child_result result = {0};

		run(&opening, &result);
		assert_int_equal(result.exit_status, 4);
		assert_int_equal(pread(kept_file, text, sizeof(text), 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_line_has_its_end),
		cmocka_unit_test(help_is_a_screen_of_what_was_asked),
		cmocka_unit_test(lost_output_is_no_success),
		cmocka_unit_test(lost_output_keeps_another_status),
		cmocka_unit_test(nothing_printed_is_nothing_lost),
		cmocka_unit_test(no_file_becomes_standard_output),
	};

	kept_file = memfd_create("kept", MFD_CLOEXEC);
	return kept_file > 2 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
