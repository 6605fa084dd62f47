/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net-once's plan and report (SPEC 4.3). */
#ifndef COLLECTOR_ONCE_H
#define COLLECTOR_ONCE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/agentlink.h"
#include "common/own.h"

#define ONCE_REPORT_LIMIT 65536
#define ONCE_REQUESTS_MAX 64

struct once_report {
	int64_t pid, uid, gid;
	char probe_runner_sha256[DIGEST_TEXT_SIZE];
	struct agent_answer responses[ONCE_REQUESTS_MAX];
	size_t response_count;
};

extern const struct json_table once_report_table;

/* The plan's bytes for connects to `endpoints`, in order. */
int once_write_plan(const struct endpoint *endpoints, size_t count, int64_t timeout_ms,
		    struct bytes *ret_bytes, struct diag *diag);

#endif
