/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines from tables: options, --help, --version, refusals. */
#ifndef COMMON_CLI_H
#define COMMON_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/diag.h"
#include "common/style.h"

/*
 * Theory of operation
 *
 * The main.c files' own helper, and so the one module beside them that prints
 * and chooses exit statuses. A program is a table of commands, a command a table
 * of options; parsing, the help text and the usage errors all come from it.
 *
 * A program without subcommands has one command whose name is NULL. Options are
 * given whole, "--name VALUE" or "--name=VALUE", before or after operands; "--"
 * ends them; --help and --version are every command's. --help of a program with
 * commands lists these, that of a command its options.
 */

#define CLI_OPTIONS_MAX 24
#define CLI_OPERANDS_MAX 1024

struct cli_option {
	const char *name;     /* "site", given as --site */
	const char *argument; /* "FILE", or NULL for a flag */
	const char *help;     /* one line, no full stop */
	bool is_required;
};

/* What was given. `values[i]` belongs to `command->options[i]`: the argument,
 * "" for a flag, NULL when absent. Everything points into argv. */
struct cli_values {
	const struct cli_command *command;
	const char *values[CLI_OPTIONS_MAX];
	const char *const *operands;
	size_t operand_count;
};

struct cli_command {
	const char *name;
	const char *operands; /* "ADDRESS PORT", for the help; or NULL */
	size_t operands_min, operands_max;
	const char *summary; /* one line, no full stop */
	const struct cli_option *options;
	size_t option_count;
	enum exit_status (*run)(const struct cli_values *values);
};

struct cli_program {
	const char *name;
	const char *summary;
	const struct cli_command *commands;
	size_t command_count;
};

/* Parses `argv`, and runs the command or prints what was asked or is wrong.
 * Returns the exit status: 2 for every mistake in the command line. Output that
 * could not be written is said, and turns status 0 into 4. Before the command runs,
 * closed standard descriptors are filled so that using them fails, and SIGPIPE is
 * ignored. `argv` is reordered. */
int cli_main(const struct cli_program *program, int argc, char **argv);

/* The value of an option of the command; NULL when it was not given. */
const char *cli_value(const struct cli_values *values, const char *name);

/* Prints `text` on the stream, painted by `rules` where style_is_wanted() of it. */
void cli_print(FILE *stream, const char *text, const struct style_rule *rules,
	       size_t count);

/* Prints "NAME: refused: PLACE: TEXT" (or "usage", "could not tell") on standard
 * error, and returns the exit status that goes with it. */
enum exit_status cli_report(const struct diag *diag);

#endif
