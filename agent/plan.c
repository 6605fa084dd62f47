// SPDX-License-Identifier: GPL-2.0-or-later
// What net-once reads and writes: netproof.plan.v1 and netproof.report.v1.
#include "agent/plan.h"

static int decode_planned(const struct json_at *at, const struct json_field *field,
			  void *object, struct diag *diag)
{
	(void)field;
	return request_decode_planned(at, object, diag);
}

/* Plans are only read. */
static const struct json_type planned_type = {.decode = decode_planned};

static const struct json_field planned_item = {.type = &planned_type,
					       .size = sizeof(struct request)};

static const struct json_field plan_fields[] = {
	{JSON_LITERAL("schema", "netproof.plan.v1")},
	{JSON_ARRAY(struct plan, requests, request_count, &planned_item, 1)},
};

static const struct json_table plan_table = JSON_TABLE(struct plan, plan_fields);

static const struct json_field response_item = {
	JSON_ITEM_OBJECT(struct answer, &answer_table)};

static const struct json_field report_fields[] = {
	{JSON_LITERAL("schema", "netproof.report.v1")},
	IDENTITY_INTEGER(struct report, pid, 0),
	IDENTITY_INTEGER(struct report, uid, 0),
	IDENTITY_INTEGER(struct report, gid, 0),
	IDENTITY_DIGEST(struct report, 0),
	{JSON_ARRAY(struct report, responses, response_count, &response_item, 1)},
};

const struct json_table report_table = JSON_TABLE(struct report, report_fields);

int plan_decode(const void *data, size_t size, const char *name, struct plan *ret_plan,
		struct diag *diag)
{
	return json_table_parse(data, size, PLAN_SIZE_MAX, name, &plan_table, ret_plan,
				diag);
}
