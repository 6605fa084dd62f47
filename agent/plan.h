/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What net-once reads and writes: netproof.plan.v1 and netproof.report.v1. */
#ifndef AGENT_PLAN_H
#define AGENT_PLAN_H

#include <stddef.h>

#include "agent/answer.h"
#include "agent/queue.h"
#include "agent/request.h"

#define PLAN_SIZE_MAX 65536
#define PLAN_REQUESTS_MAX 64

_Static_assert(PLAN_REQUESTS_MAX <= QUEUE_MAX, "a plan is in flight all at once");

struct plan {
	struct request requests[PLAN_REQUESTS_MAX];
	size_t request_count;
};

struct report {
	struct identity identity;
	struct answer responses[PLAN_REQUESTS_MAX];
	size_t response_count;
};

extern const struct json_table report_table;

/* Decodes a plan; `name` is its document's. */
int plan_decode(const void *data, size_t size, const char *name, struct plan *ret_plan,
		struct diag *diag);

#endif
