/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers: netproof.agent.v1. */
#ifndef AGENT_ANSWER_H
#define AGENT_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/outcome.h"
#include "agent/request.h"
#include "common/json_table.h"
#include "common/sandbox.h"

#define ANSWER_ERROR_SIZE (DIAG_PLACE_SIZE + DIAG_TEXT_SIZE + 2)

/* Longest line: an error whose every byte needs an escape, and the rest. */
#define ANSWER_LINE_MAX (2 * ANSWER_ERROR_SIZE + 1024)

/* Who this agent is, as seen from inside. */
struct identity {
	int64_t pid, uid, gid;
	char probe_runner_sha256[DIGEST_TEXT_SIZE];
};

struct answer {
	int op; /* enum request_op */
	bool has_op;
	int outcome; /* enum outcome */
	bool has_outcome;
	char connection[HANDLE_TEXT_SIZE];
	bool has_connection;
	char listener[HANDLE_TEXT_SIZE];
	bool has_listener;
	char remote_address[INET_TEXT_SIZE];
	bool has_remote_address;
	struct identity identity;
	struct sandbox_state sandbox;
	bool has_identity; /* with the sandbox: what hello says */
	char errno_name[32];
	bool has_errno;
	int64_t elapsed_us;
	bool has_elapsed;
	char error[ANSWER_ERROR_SIZE];
	bool has_error;
};

/* Rows of a table whose struct has a `struct identity identity`, that of the answer
 * and that of a report; `present_` is the offset of its bool, or 0. */
#define IDENTITY_INTEGER(struct_, key_, present_)                                        \
	{                                                                                \
		.key = #key_, .type = &json_type_integer,                                \
		.offset = offsetof(struct_, identity.key_), .size = sizeof(int64_t),     \
		.max = UINT32_MAX, .present_offset = (present_)                          \
	}
#define IDENTITY_DIGEST(struct_, present_)                                               \
	{                                                                                \
		.key = "probe_runner_sha256", .type = &json_type_text,                   \
		.offset = offsetof(struct_, identity.probe_runner_sha256),               \
		.size = DIGEST_TEXT_SIZE, .min = DIGEST_TEXT_SIZE - 1,                   \
		.max = DIGEST_TEXT_SIZE - 1, .detail = &json_rule_digest,                \
		.present_offset = (present_)                                             \
	}

extern const struct json_table answer_table;

/* Sets the outcome, and the error that led to it by name (0: none). */
void answer_set_outcome(struct answer *answer, enum outcome outcome, int error);

#endif
