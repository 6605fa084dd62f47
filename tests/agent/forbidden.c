// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's confinement, and then one system call by number:
//
//	forbidden ROLE NUMBER [ARGUMENT...]   ROLE: standard, unix or once
//
// Exits with 0 when the call returned, its value (or errno) on standard output; the
// filter's verdict on everything else is the signal this program dies of. Unlisted
// arguments are 0. "PIPE" stands for a writable descriptor that is not the session's.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/confine.h"
#include "common/own.h"

#define ARGUMENTS_MAX 6

static int find_role(const char *name, enum confine_role *ret_role)
{
	static const char *const names[] = {"standard", "unix", "once"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*ret_role = (enum confine_role)i;
		return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	static struct agent agent;
	struct confine_wishes wishes = {.remove_directory_fd = -1, .output_fd = -1};
	struct diag diag = {0};
	long arguments[ARGUMENTS_MAX] = {0};
	char text[64];
	long number, result;
	int other[2];

	if (argc < 3 || argc > 3 + ARGUMENTS_MAX || find_role(argv[1], &wishes.role))
		return 2;
	number = strtol(argv[2], NULL, 0);
	if (agent_open(&agent, &diag) || pipe(other) != 0)
		return 3;
	for (int i = 3; i < argc; i++)
		arguments[i - 3] = strcmp(argv[i], "PIPE") == 0
					   ? other[1]
					   : (long)strtoull(argv[i], NULL, 0);
	if (confine(&wishes, &agent, &diag))
		return 3;
	result = syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
			 arguments[4], arguments[5]);
	snprintf(text, sizeof(text), "%ld\n", result < 0 ? -(long)errno : result);
	/* Only descriptors 1 and 2 take bytes. */
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		return 3;
	return 0;
}
