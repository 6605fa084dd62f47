// SPDX-License-Identifier: GPL-2.0-or-later
// Answers: netproof.agent.v1.
#include "agent/answer.h"

#include <stdio.h>
#include <string.h>

static const struct json_field sandbox_fields[] = {
	{JSON_BOOLEAN(struct sandbox_state, no_new_privs)},
	{JSON_BOOLEAN(struct sandbox_state, seccomp)},
	{JSON_BOOLEAN(struct sandbox_state, landlock)},
};

static const struct json_table sandbox_table =
	JSON_TABLE(struct sandbox_state, sandbox_fields);

#define HAS_IDENTITY offsetof(struct answer, has_identity)

static const struct json_field answer_fields[] = {
	{JSON_LITERAL("schema", "netproof.agent.v1")},
	{JSON_CHOICE(struct answer, op, request_op_names),
	 JSON_OPTIONAL(struct answer, has_op)},
	{JSON_CHOICE(struct answer, outcome, outcome_names),
	 JSON_OPTIONAL(struct answer, has_outcome)},
	{JSON_TEXT(struct answer, connection, 1, NULL),
	 JSON_OPTIONAL(struct answer, has_connection)},
	{JSON_TEXT(struct answer, listener, 1, NULL),
	 JSON_OPTIONAL(struct answer, has_listener)},
	{JSON_TEXT(struct answer, remote_address, 1, NULL),
	 JSON_OPTIONAL(struct answer, has_remote_address)},
	IDENTITY_INTEGER(struct answer, pid, HAS_IDENTITY),
	IDENTITY_INTEGER(struct answer, uid, HAS_IDENTITY),
	IDENTITY_INTEGER(struct answer, gid, HAS_IDENTITY),
	IDENTITY_DIGEST(struct answer, HAS_IDENTITY),
	{JSON_OBJECT(struct answer, sandbox, &sandbox_table),
	 JSON_OPTIONAL(struct answer, has_identity)},
	/* Not JSON_TEXT: "errno" is a macro. */
	{.key = "errno",
	 .type = &json_type_text,
	 .offset = offsetof(struct answer, errno_name),
	 .size = JSON_MEMBER_SIZE(struct answer, errno_name),
	 .min = 1,
	 .max = JSON_MEMBER_SIZE(struct answer, errno_name) - 1,
	 JSON_OPTIONAL(struct answer, has_errno)},
	{JSON_INTEGER(struct answer, elapsed_us, 0, JSON_MAX_INTEGER),
	 JSON_OPTIONAL(struct answer, has_elapsed)},
	{JSON_TEXT(struct answer, error, 1, NULL),
	 JSON_OPTIONAL(struct answer, has_error)},
};

const struct json_table answer_table = JSON_TABLE(struct answer, answer_fields);

void answer_set_outcome(struct answer *answer, enum outcome outcome, int error)
{
	const char *name = error ? strerrorname_np(error) : NULL;

	answer->outcome = (int)outcome;
	answer->has_outcome = true;
	answer->has_errno = error != 0;
	if (name)
		snprintf(answer->errno_name, sizeof(answer->errno_name), "%s", name);
	else if (error)
		snprintf(answer->errno_name, sizeof(answer->errno_name), "errno %d",
			 error);
}
