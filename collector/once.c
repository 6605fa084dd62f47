// SPDX-License-Identifier: GPL-2.0-or-later
// net-once's plan and report (SPEC 4.3).
#include "collector/once.h"

#include <string.h>

static const char *const plan_op_names[] = {"connect", NULL};

struct plan_request {
	int op;
	char address[INET_TEXT_SIZE];
	int64_t port, timeout_ms;
};

struct plan {
	struct plan_request requests[ONCE_REQUESTS_MAX];
	size_t request_count;
};

static const struct json_field request_fields[] = {
	{JSON_CHOICE(struct plan_request, op, plan_op_names)},
	{JSON_TEXT(struct plan_request, address, 2, &json_rule_address)},
	{JSON_INTEGER(struct plan_request, port, 1, 65535)},
	{JSON_INTEGER(struct plan_request, timeout_ms, 1, 120000)},
};
static const struct json_table request_table =
	JSON_TABLE(struct plan_request, request_fields);
static const struct json_field request_item = {
	JSON_ITEM_OBJECT(struct plan_request, &request_table)};
static const struct json_field plan_fields[] = {
	{JSON_LITERAL("schema", "netproof.plan.v1")},
	{JSON_ARRAY(struct plan, requests, request_count, &request_item, 1)},
};
static const struct json_table plan_table = JSON_TABLE(struct plan, plan_fields);

static const struct json_field response_item = {
	JSON_ITEM_OBJECT(struct agent_answer, &agent_answer_table)};
static const struct json_field report_fields[] = {
	{JSON_LITERAL("schema", "netproof.report.v1")},
	{JSON_INTEGER(struct once_report, pid, 1, 4294967295)},
	{JSON_INTEGER(struct once_report, uid, 0, 4294967295)},
	{JSON_INTEGER(struct once_report, gid, 0, 4294967295)},
	{JSON_DIGEST(struct once_report, probe_runner_sha256)},
	{JSON_ARRAY(struct once_report, responses, response_count, &response_item, 1)},
};
const struct json_table once_report_table = JSON_TABLE(struct once_report, report_fields);

int once_write_plan(const struct endpoint *endpoints, size_t count, int64_t timeout_ms,
		    struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_pointer) struct plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return diag_no_memory(diag);
	for (size_t i = 0; i < count; i++) {
		struct plan_request *request = &plan->requests[i];

		strcpy(request->address, endpoints[i].address);
		request->port = endpoints[i].port;
		request->timeout_ms = timeout_ms;
	}
	plan->request_count = count;
	return json_table_write(&plan_table, plan, ret_bytes, diag);
}
