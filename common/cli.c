// SPDX-License-Identifier: GPL-2.0-or-later
// Command lines from tables: options, --help, --version, refusals.
#include "common/cli.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/own.h"
#include "common/version.h"

/* The help fits a terminal of 24 lines; shell completion is made of it
 * (docs/make-completion), so its form is tested. */
#define HELP_COLUMN 26
#define HELP_WIDTH 79

static const char *program_name = "netproof";
/* errno of the first text that standard output did not take. */
static int print_error;

/* Prints a word behind a blank, none past the last column: the next line begins at
 * `indent` instead. `*column` is how much of the line is written. */
static void print_word(const char *word, int length, int indent, int *column)
{
	if (*column >= indent && *column + 1 + length > HELP_WIDTH) {
		printf("\n%*s", indent - 1, "");
		*column = indent - 1;
	}
	printf(" %.*s", length, word);
	*column += 1 + length;
}

static void print_text(const char *text, int indent, int column)
{
	while (*text) {
		int length = (int)strcspn(text, " ");

		print_word(text, length, indent, &column);
		text += length + (text[length] == ' ');
	}
	printf("\n");
}

/* "  NAME     what it is"; the second part on the next line if the first is long. */
static void print_entry(const char *prefix, const char *name, const char *argument,
			const char *help)
{
	int used = printf("  %s%s%s%s", prefix, name, argument ? " " : "",
			  argument ? argument : "");

	if (used + 2 > HELP_COLUMN) {
		printf("\n");
		used = 0;
	}
	printf("%*s", HELP_COLUMN - 1 - used, "");
	print_text(help, HELP_COLUMN, HELP_COLUMN - 1);
}

/* One option of the usage line is one word there: it is not torn apart. */
static void print_usage(const struct cli_program *program,
			const struct cli_command *command)
{
	int column = printf("usage: %s%s%s", program->name, command->name ? " " : "",
			    command->name ? command->name : "");
	int indent = column + 1;
	char word[HELP_WIDTH];

	for (size_t i = 0; i < command->option_count; i++) {
		const struct cli_option *option = &command->options[i];

		snprintf(word, sizeof(word), "%s--%s%s%s%s",
			 option->is_required ? "" : "[", option->name,
			 option->argument ? " " : "",
			 option->argument ? option->argument : "",
			 option->is_required ? "" : "]");
		print_word(word, (int)strlen(word), indent, &column);
	}
	print_text(command->operands ? command->operands : "", indent, column);
}

static void print_common_options(void)
{
	print_entry("--", "help", NULL, "print this and exit");
	print_entry("--", "version", NULL, "print the version and exit");
}

static void print_command_help(const struct cli_program *program,
			       const struct cli_command *command)
{
	int column = printf("%s%s%s:", program->name, command->name ? " " : "",
			    command->name ? command->name : "");

	print_text(command->name ? command->summary : program->summary, 2, column);
	printf("\n");
	print_usage(program, command);
	if (!command->name)
		printf("%s\n", command->summary);
	printf("\n");
	for (size_t i = 0; i < command->option_count; i++)
		print_entry("--", command->options[i].name, command->options[i].argument,
			    command->options[i].help);
	print_common_options();
}

static void print_program_help(const struct cli_program *program)
{
	printf("%s: %s\n\nusage: %s COMMAND [OPTIONS]\n       %s COMMAND --help\n\n",
	       program->name, program->summary, program->name, program->name);
	for (size_t c = 0; c < program->command_count; c++)
		print_entry("", program->commands[c].name, NULL,
			    program->commands[c].summary);
	printf("\n");
	print_common_options();
}

__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
	char text[DIAG_TEXT_SIZE];
	struct diag diag = {0};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	diag_usage(&diag, NULL, "%s", text);
	return (int)cli_report(&diag);
}

enum exit_status cli_report(const struct diag *diag)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	const char *kind = diag_kind_name(diag->kind);

	/* A failure that left no cause is a bug of ours; it must still be seen. */
	fprintf(stderr, "%s: %s: %s\n", program_name, *kind ? kind : "could not tell",
		*kind ? diag_render(diag, line, sizeof(line)) : "no cause was recorded");
	return diag_exit_status(diag);
}

void cli_print(FILE *stream, const char *text, const struct style_rule *rules,
	       size_t count)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes painted = {0};
	struct diag ignored = {0};

	if (style_is_wanted(fileno(stream))) {
		style_paint(text, rules, count, &buffer);
		/* Without memory for colours it is as good without them. */
		if (buffer_take(&buffer, &painted, &ignored) == 0)
			text = painted.data;
	}
	if (fputs(text, stream) < 0 && stream == stdout && !print_error)
		print_error = errno;
}

const char *cli_value(const struct cli_values *values, const char *name)
{
	for (size_t i = 0; i < values->command->option_count; i++)
		if (strcmp(values->command->options[i].name, name) == 0)
			return values->values[i];
	assert(false); /* the command's table has no such option */
	return NULL;
}

/* What remains of the command line; `at` is the next to read. */
struct words {
	char **at;
	char **end;
};

static const struct cli_option *find_option(const struct cli_command *command,
					    const char *name, size_t length)
{
	for (size_t i = 0; i < command->option_count; i++)
		if (strlen(command->options[i].name) == length &&
		    memcmp(command->options[i].name, name, length) == 0)
			return &command->options[i];
	return NULL;
}

/* Takes one option, "--NAME", "--NAME=VALUE" or "--NAME VALUE". Names are whole:
 * an abbreviation would mean something else, or nothing, in a later version. A
 * value that looks like an option is one whose value was forgotten; "=" gives it
 * all the same. Returns -1 to go on, or the exit status. */
static int take_option(struct words *words, struct cli_values *values)
{
	const struct cli_command *command = values->command;
	const char *given = *words->at++, *name = given + 2, *value;
	size_t length = strcspn(name, "="), index;
	const struct cli_option *option = NULL;

	if (given[1] == '-')
		option = find_option(command, name, length);
	if (!option)
		return usage("%s is not an option here: see --help", given);
	index = (size_t)(option - command->options);
	if (values->values[index])
		return usage("--%s is given twice", option->name);
	value = name[length] ? name + length + 1 : NULL;
	if (!option->argument) {
		values->values[index] = "";
		return value ? usage("--%s takes no argument", option->name) : -1;
	}
	if (!value && words->at < words->end && strncmp(*words->at, "--", 2) != 0)
		value = *words->at++;
	if (!value || !*value)
		return usage("--%s wants an argument: %s", option->name,
			     option->argument);
	values->values[index] = value;
	return -1;
}

/* Whether `word` is the option of that name that every command has. */
static bool is_common_option(const char *word, const char *name)
{
	return strncmp(word, "--", 2) == 0 && strcmp(word + 2, name) == 0;
}

/* Sorts options from operands, which are moved to the front of the words; after
 * "--" everything is an operand. Returns -1 to go on, or the exit status. */
static int parse_words(const struct cli_program *program, struct words words,
		       struct cli_values *values)
{
	char **operand = words.at;
	bool is_options_end = false;
	int status;

	values->operands = (const char *const *)words.at;
	while (words.at < words.end) {
		if (is_options_end || (*words.at)[0] != '-' || !(*words.at)[1]) {
			*operand++ = *words.at++;
			values->operand_count++;
		} else if (strcmp(*words.at, "--") == 0) {
			is_options_end = true;
			words.at++;
		} else if (is_common_option(*words.at, "help")) {
			if (values->command->run)
				print_command_help(program, values->command);
			else
				print_program_help(program);
			return EXIT_STATUS_OK;
		} else if (is_common_option(*words.at, "version")) {
			printf("%s %s\n", program->name, NETPROOF_VERSION);
			return EXIT_STATUS_OK;
		} else {
			status = take_option(&words, values);
			if (status >= 0)
				return status;
		}
	}
	return -1;
}

static int run_command(const struct cli_program *program,
		       const struct cli_command *command, struct words words)
{
	struct cli_values values = {.command = command};
	int status;

	assert(command->option_count <= CLI_OPTIONS_MAX);
	status = parse_words(program, words, &values);
	if (status >= 0)
		return status;
	for (size_t i = 0; i < command->option_count; i++)
		if (command->options[i].is_required && !values.values[i])
			return usage("--%s is missing: see --help",
				     command->options[i].name);
	if (values.operand_count < command->operands_min)
		return usage("%s missing: see --help", command->operands);
	if (values.operand_count > command->operands_max)
		return usage("\"%s\" is one operand too many: see --help",
			     values.operands[command->operands_max]);
	return (int)command->run(&values);
}

static int dispatch(const struct cli_program *program, struct words words)
{
	/* Before a command there are only --help and --version. */
	static const struct cli_command none = {.name = NULL};
	const struct cli_command *command = program->commands;
	struct cli_values values = {.command = &none};
	int status;

	if (!command->name)
		return run_command(program, command, words);
	if (words.at == words.end)
		return usage("a command is missing: see --help");
	for (; command < program->commands + program->command_count; command++) {
		if (strcmp(*words.at, command->name) != 0)
			continue;
		words.at++;
		return run_command(program, command, words);
	}
	if ((*words.at)[0] != '-')
		return usage("\"%s\" is not a command: see --help", *words.at);
	words.end = words.at + 1;
	status = parse_words(program, words, &values);
	return status >= 0 ? status : usage("a command is missing: see --help");
}

/* A standard descriptor that the caller closed would be given to the next file
 * opened, and output would end up in it. It is filled in such a way that using it
 * fails, as on a closed one. */
static int fill_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return -1;
	}
	return 0;
}

/* Says it if what was printed got lost, and why as far as that is known. */
static bool is_output_lost(void)
{
	struct diag diag = {0};
	bool is_lost = ferror(stdout) != 0;

	if (fflush(stdout) != 0) {
		is_lost = true;
		if (!print_error)
			print_error = errno;
	}
	if (!is_lost)
		return false;
	diag_fail(&diag, print_error, NULL, "standard output could not be written");
	cli_report(&diag);
	return true;
}

int cli_main(const struct cli_program *program, int argc, char **argv)
{
	struct diag diag = {0};
	int status;

	program_name = program->name;
	if (fill_standard_descriptors() != 0) {
		diag_fail(&diag, errno, NULL,
			  "a closed standard descriptor cannot be filled");
		return (int)cli_report(&diag);
	}
	/* A reader that goes away is an error to handle, not a way to die in the
	 * middle of what must be cleaned up. */
	signal(SIGPIPE, SIG_IGN);
	status = dispatch(program,
			  (struct words){argc > 0 ? argv + 1 : argv, argv + argc});
	if (is_output_lost() && status == EXIT_STATUS_OK)
		return EXIT_STATUS_UNDECIDED;
	return status;
}
