// SPDX-License-Identifier: GPL-2.0-or-later
// Command lines from tables: options, --help, --version, refusals.
#include "common/cli.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/own.h"
#include "common/version.h"

#define HELP_COLUMN 30

static const char *program_name = "netproof";

static const struct cli_option no_options[1];

static void print_command(const struct cli_program *program,
			  const struct cli_command *command)
{
	printf("  %s%s%s", program->name, command->name ? " " : "",
	       command->name ? command->name : "");
	for (size_t i = 0; i < command->option_count; i++) {
		const struct cli_option *option = &command->options[i];

		printf(" %s--%s%s%s%s", option->is_required ? "" : "[", option->name,
		       option->argument ? " " : "",
		       option->argument ? option->argument : "",
		       option->is_required ? "" : "]");
	}
	printf("%s%s\n      %s\n", command->operands ? " " : "",
	       command->operands ? command->operands : "", command->summary);
}

static bool is_option_shown(const struct cli_program *program, size_t command,
			    const struct cli_option *option)
{
	for (size_t c = 0; c < command; c++)
		for (size_t i = 0; i < program->commands[c].option_count; i++)
			if (strcmp(program->commands[c].options[i].name, option->name) ==
			    0)
				return true;
	return false;
}

static void print_option(const char *name, const char *argument, const char *help)
{
	int used =
		printf("  --%s%s%s", name, argument ? " " : "", argument ? argument : "");

	printf("%*s%s\n", used < HELP_COLUMN ? HELP_COLUMN - used : 1, "", help);
}

static void print_help(const struct cli_program *program)
{
	printf("%s: %s\n\n", program->name, program->summary);
	for (size_t c = 0; c < program->command_count; c++)
		print_command(program, &program->commands[c]);
	printf("\n");
	for (size_t c = 0; c < program->command_count; c++) {
		const struct cli_command *command = &program->commands[c];

		for (size_t i = 0; i < command->option_count; i++)
			if (!is_option_shown(program, c, &command->options[i]))
				print_option(command->options[i].name,
					     command->options[i].argument,
					     command->options[i].help);
	}
	print_option("help", NULL, "print this and exit");
	print_option("version", NULL, "print the version and exit");
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

const char *cli_value(const struct cli_values *values, const char *name)
{
	for (size_t i = 0; i < values->command->option_count; i++)
		if (strcmp(values->command->options[i].name, name) == 0)
			return values->values[i];
	assert(false); /* the command's table has no such option */
	return NULL;
}

enum { OPTION_HELP = 1000, OPTION_VERSION, OPTION_FIRST };

/* Returns -1 to go on, or the exit status. */
static int parse_options(const struct cli_program *program, int argc, char **argv,
			 struct cli_values *values)
{
	const struct cli_command *command = values->command;
	struct option table[CLI_OPTIONS_MAX + 3] = {{0}};
	size_t count = 0;
	int found;

	assert(command->option_count <= CLI_OPTIONS_MAX);
	for (; count < command->option_count; count++)
		table[count] = (struct option){command->options[count].name,
					       command->options[count].argument ? 1 : 0,
					       NULL, OPTION_FIRST + (int)count};
	table[count++] = (struct option){"help", 0, NULL, OPTION_HELP};
	table[count++] = (struct option){"version", 0, NULL, OPTION_VERSION};
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", table, NULL)) != -1) {
		const char *given = argv[optind - 1];
		int index = found - OPTION_FIRST;

		if (found == OPTION_HELP) {
			print_help(program);
			return EXIT_STATUS_OK;
		}
		if (found == OPTION_VERSION) {
			printf("%s %s\n", program->name, NETPROOF_VERSION);
			return EXIT_STATUS_OK;
		}
		if (found == ':')
			return usage("%s wants an argument", given);
		if (found == '?')
			return usage("%s is not an option here: see --help", given);
		if (values->values[index])
			return usage("--%s is given twice", command->options[index].name);
		values->values[index] = optarg ? optarg : "";
	}
	return -1;
}

static int run_command(const struct cli_program *program,
		       const struct cli_command *command, int argc, char **argv)
{
	struct cli_values values = {.command = command};
	int status = parse_options(program, argc, argv, &values);

	if (status >= 0)
		return status;
	for (size_t i = 0; i < command->option_count; i++)
		if (command->options[i].is_required && !values.values[i])
			return usage("--%s is missing: see --help",
				     command->options[i].name);
	values.operands = (const char *const *)argv + optind;
	values.operand_count = (size_t)(argc - optind);
	if (values.operand_count < command->operands_min)
		return usage("%s missing: see --help", command->operands);
	if (values.operand_count > command->operands_max)
		return usage("\"%s\" is one operand too many: see --help",
			     values.operands[command->operands_max]);
	return (int)command->run(&values);
}

static int dispatch(const struct cli_program *program, int argc, char **argv)
{
	const struct cli_command *command = program->commands;
	/* Only for --help and --version before a subcommand. */
	static const struct cli_command none = {.options = no_options};

	if (!command->name)
		return run_command(program, command, argc, argv);
	if (argc < 2)
		return usage("a command is missing: see %s --help", program->name);
	if (argv[1][0] == '-') {
		struct cli_values values = {.command = &none};
		int status = parse_options(program, argc, argv, &values);

		return status >= 0 ? status
				   : usage("%s comes before any command", argv[1]);
	}
	for (; command < program->commands + program->command_count; command++)
		if (strcmp(argv[1], command->name) == 0)
			return run_command(program, command, argc - 1, argv + 1);
	return usage("\"%s\" is not a command: see --help", argv[1]);
}

int cli_main(const struct cli_program *program, int argc, char **argv)
{
	struct diag diag = {0};
	int status;

	program_name = program->name;
	status = dispatch(program, argc, argv);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_STATUS_OK) {
		diag_fail(&diag, 0, NULL, "standard output could not be written");
		return (int)cli_report(&diag);
	}
	return status;
}
