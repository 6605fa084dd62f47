/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's confinement: its filter tables, limits and files. */
#ifndef AGENT_CONFINE_H
#define AGENT_CONFINE_H

#include "agent/agent.h"
#include "common/diag.h"
#include "common/sandbox.h"

/* What the three ways to run need beyond what all need. */
enum confine_role {
	CONFINE_SERVE_STANDARD, /* net-agent on standard input and output */
	CONFINE_SERVE_UNIX,     /* net-agent --unix */
	CONFINE_ONCE,           /* net-once */
};

struct confine_wishes {
	enum confine_role role;
	int remove_directory_fd; /* where one file will be removed, or -1 */
	int output_fd;           /* beside descriptors 1 and 2 (ONCE: the report) */
};

/* Drops privileges, sets the limits, restricts files and installs the filter, in this
 * order; then reads back what is in force into `agent->sandbox`. Every failure must
 * end the process. After it, nothing outside the filter's list returns: the process
 * is killed (SIGSYS). */
int confine(const struct confine_wishes *wishes, struct agent *agent, struct diag *diag);

#endif
