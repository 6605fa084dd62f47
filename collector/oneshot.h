/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net-once in the worker's cgroup, as the unit's last ExecStopPost runs it. */
#ifndef COLLECTOR_ONESHOT_H
#define COLLECTOR_ONESHOT_H

#include "collector/probes.h"

/*
 * Theory of operation
 *
 * The plan and the gate lie in the worker's runtime folder, where only root
 * writes. The gate is a FIFO that we hold open: net-once opens it, which wakes us,
 * and waits for a byte; until it has one, it has done nothing. In between it is
 * found as the unit's control process, held, measured and checked like any agent,
 * and the ruleset is compared: the guard must be there before the first attempt.
 *
 * Its report is read through its own open descriptor while it waits for the second
 * byte: the file by its name could be another's by then.
 */

struct oneshot {
	struct session *session;
	struct probe_set *set;
	struct process process;
	struct measurement measured;
	struct record_agent entry;
	int gate_fd, watch_fd;
};

#define ONESHOT_INIT                                                                     \
	{                                                                                \
		.process = PROCESS_INIT, .gate_fd = -1, .watch_fd = -1                   \
	}

/* Writes the plan for the trusted endpoints and makes the gate. */
int oneshot_prepare(struct probe_set *set, struct oneshot *ret_oneshot,
		    struct diag *diag);

/* Waits until net-once stands at the gate, and measures it there. */
int oneshot_await(struct oneshot *oneshot, struct diag *diag);

/* Opens the gate, with the controls of `list` around it; takes the report's answers as
 * those of `list`, in order; measures again; lets it go. */
int oneshot_run(struct oneshot *oneshot, struct probe *const *list, size_t count,
		struct record_phase *phase, struct diag *diag);

/* Removes plan and gate. Idempotent, as is closing. */
int oneshot_remove_files(const struct session *session, struct diag *diag);
void oneshot_close(struct oneshot *oneshot);

#endif
