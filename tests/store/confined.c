// SPDX-License-Identifier: GPL-2.0-or-later
// The verifier's confinement, and then one call that it must not survive.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cli.h"
#include "verifier/confine.h"

static void make_socket(void)
{
	(void)!socket(AF_INET, SOCK_STREAM, 0);
}

static void make_unix_socket(void)
{
	(void)!socket(AF_UNIX, SOCK_STREAM, 0);
}

static void make_process(void)
{
	(void)!fork();
}

static void run_program(void)
{
	(void)!execl("/bin/true", "true", NULL);
}

static void write_file(void)
{
	(void)!open("/dev/null", O_WRONLY);
}

static void make_file(void)
{
	(void)!open("/dev/null", O_RDONLY | O_CREAT, 0600);
}

static void remove_file(void)
{
	(void)!unlink("/nonexistent");
}

static void trace_process(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void read_file(void)
{
	(void)!open("/dev/null", O_RDONLY);
}

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{"socket", make_socket},      {"unix-socket", make_unix_socket},
	{"fork", make_process},       {"exec", run_program},
	{"write-file", write_file},   {"make-file", make_file},
	{"remove-file", remove_file}, {"ptrace", trace_process},
	{"read-file", read_file},
};

static enum exit_status run(const struct cli_values *values)
{
	struct diag diag = {0};

	if (confine_verifier(&diag) != 0)
		return cli_report(&diag);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, values->operands[0]) == 0) {
			calls[i].call();
			return EXIT_STATUS_OK;
		}
	return EXIT_STATUS_USAGE;
}

int main(int argc, char **argv)
{
	static const struct cli_command commands[] = {
		{.operands = "CALL",
		 .operands_min = 1,
		 .operands_max = 1,
		 .summary = "confines itself as net-verify does, and makes a call",
		 .run = run},
	};
	static const struct cli_program program = {
		.name = "verify_confined",
		.summary = "the verifier's confinement, tried",
		.commands = commands,
		.command_count = 1,
	};

	return cli_main(&program, argc, argv);
}
