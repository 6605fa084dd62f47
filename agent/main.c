// SPDX-License-Identifier: GPL-2.0-or-later
// net-probe: the probe agent's command line; net-agent and net-once as links to it.
#include <string.h>

#include "agent/once.h"
#include "agent/serve.h"
#include "common/cli.h"
#include "common/own.h"

static enum exit_status run_agent(const struct cli_values *values)
{
	struct diag diag = {0};
	const char *path = cli_value(values, "unix");
	bool is_self_allowed = cli_value(values, "allow-self") != NULL;

	if (is_self_allowed && !path)
		diag_usage(&diag, "--allow-self", "goes with --unix");
	else if (serve_run(path, is_self_allowed, &diag) == 0)
		return EXIT_STATUS_OK;
	return cli_report(&diag);
}

static enum exit_status run_once(const struct cli_values *values)
{
	struct diag diag = {0};

	if (once_run(cli_value(values, "plan"), cli_value(values, "report"),
		     cli_value(values, "gate"), &diag) == 0)
		return EXIT_STATUS_OK;
	return cli_report(&diag);
}

static const struct cli_option agent_options[] = {
	{"unix", "PATH", "serve the one connection of a new socket there", false},
	{"allow-self", NULL, "let the agent's own user connect, for tests", false},
};

static const struct cli_option once_options[] = {
	{"plan", "FILE", "the requests; no such file: nothing is done", true},
	{"report", "FILE", "the answers, in a new file", true},
	{"gate", "FIFO", "first wait for a '1' there", false},
};

static const char agent_summary[] =
	"answers one JSON request a line, on standard input and output";
static const char once_summary[] = "runs a fixed plan and writes a report";

#define COMMAND(name_, summary_, options_, run_)                                         \
	{                                                                                \
		.name = (name_), .summary = (summary_), .options = (options_),           \
		.option_count = ARRAY_SIZE(options_), .run = (run_)                      \
	}

static const struct cli_command probe_commands[] = {
	COMMAND("net-agent", agent_summary, agent_options, run_agent),
	COMMAND("net-once", once_summary, once_options, run_once),
};
static const struct cli_command agent_command =
	COMMAND(NULL, agent_summary, agent_options, run_agent);
static const struct cli_command once_command =
	COMMAND(NULL, once_summary, once_options, run_once);

static const struct cli_program programs[] = {
	{"net-agent", "netproof's probe agent", &agent_command, 1},
	{"net-once", "netproof's probe agent, one shot", &once_command, 1},
	{"net-probe", "single network attempts, exactly reported", probe_commands,
	 ARRAY_SIZE(probe_commands)},
};

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *called = argc > 0 ? (slash ? slash + 1 : argv[0]) : "";
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(programs) && strcmp(called, programs[i].name) != 0)
		i++;
	return cli_main(&programs[i], argc, argv);
}
