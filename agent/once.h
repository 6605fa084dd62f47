/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net-once: a fixed plan, once, with a report. */
#ifndef AGENT_ONCE_H
#define AGENT_ONCE_H

#include "common/diag.h"

/* Runs the plan and writes the report to a new file, as SPEC 4.3 says. `gate_path` may
 * be NULL. Without a plan file it does nothing and returns 0. On every failure the
 * report's file is removed again. */
int once_run(const char *plan_path, const char *report_path, const char *gate_path,
	     struct diag *diag);

#endif
