// SPDX-License-Identifier: GPL-2.0-or-later
// net-collector: collects the evidence of one network enforcement window.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/bindings.h"
#include "common/cli.h"

static enum exit_status run_network(const struct cli_values *values)
{
	struct diag diag = {0};

	(void)values;
	diag_usage(&diag, "network", "not implemented");
	return cli_report(&diag);
}

static const struct cli_command commands[] = {
	{"network", NULL, 0, 0, "collects", NULL, 0, run_network},
};

static const struct cli_program program = {"net-collector",
					   "collects the evidence of one window",
					   commands, ARRAY_SIZE(commands)};

int main(int argc, char **argv)
{
	return cli_main(&program, argc, argv);
}
