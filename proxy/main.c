// SPDX-License-Identifier: GPL-2.0-or-later
// net-proxy: an HTTP proxy that answers every request with a refusal.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/notify.h"
#include "common/number.h"
#include "common/own.h"
#include "common/sandbox.h"
#include "proxy/confine.h"
#include "proxy/listener.h"
#include "proxy/server.h"

/* Whether a service manager passed a socket to this very process: sd_listen_fds(3).
 * It may pass one, no more. */
static int is_passed(bool *ret_is_passed, struct diag *diag)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t number;

	*ret_is_passed = false;
	if (!pid || !count || number_parse(pid, 1, INT32_MAX, &number) != 0 ||
	    number != (uint64_t)getpid())
		return 0;
	if (number_parse(count, 1, 1, &number) != 0)
		return diag_refuse(diag, "LISTEN_FDS", "one socket is served, not %s",
				   count);
	*ret_is_passed = true;
	return 0;
}

/* In the order of docs/design.md: descriptors, what is needed, privileges, filter;
 * only then is a byte read. */
static int serve(const char *address, uint16_t port, struct diag *diag)
{
	struct server *server = NULL;
	char state[128];
	bool is_given;
	int listener = -1, notify = -1;
	int error = is_passed(&is_given, diag);

	if (!error)
		error = sandbox_close_descriptors(LISTENER_PASSED_FD + (is_given ? 1 : 0),
						  diag);
	if (!error)
		error = is_given ? listener_adopt(address, port, &listener, diag)
				 : listener_open(address, port, &listener, diag);
	if (!error)
		error = server_open(listener, &server, diag);
	if (!error) {
		notify = notify_open();
		server_set_watchdog(server, notify, notify_watchdog_ms());
		error = confine(listener, server_epoll(server), diag);
	}
	if (!error) {
		snprintf(state, sizeof(state), "READY=1\nSTATUS=Refusing on %s port %u",
			 address, port);
		notify_send(notify, state);
		error = server_run(server, diag);
	}
	server_release(server);
	own_fd(&notify);
	own_fd(&listener);
	return error;
}

static enum exit_status run(const struct cli_values *values)
{
	struct diag diag = {0};
	uint64_t port;

	if (number_parse(values->operands[1], 1, UINT16_MAX, &port) != 0) {
		diag_usage(&diag, values->operands[1], "not a port from 1 to 65535");
		return cli_report(&diag);
	}
	serve(values->operands[0], (uint16_t)port, &diag);
	return cli_report(&diag);
}

int main(int argc, char **argv)
{
	static const struct cli_command command = {
		.operands = "ADDRESS PORT",
		.operands_min = 2,
		.operands_max = 2,
		.summary = "answer every request with 403 until a signal ends it",
		.run = run,
	};
	static const struct cli_program program = {
		.name = "net-proxy",
		.summary = "an HTTP proxy that answers every request with a refusal",
		.commands = &command,
		.command_count = 1,
	};

	return cli_main(&program, argc, argv);
}
