/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session with one probe agent: pipelined requests, ordered answers (SPEC 4.1). */
#ifndef COLLECTOR_AGENTLINK_H
#define COLLECTOR_AGENTLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/decoder.h"
#include "collector/wait.h"
#include "common/diag.h"
#include "common/digest.h"
#include "common/inet.h"
#include "common/json_table.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * The agent is not trusted to be what it should be before it has been measured,
 * and its answers are not trusted to be well-formed ever: lines are bounded,
 * decoded by the decoder process, and matched in order with the requests in
 * flight. Bytes that no request asked for, an answer to another operation, an
 * outcome that the operation cannot have, an error, silence until the deadline
 * and an end of file are refusals, and each says which. After the first, the
 * session is over: every later call fails with the same words.
 */

enum agent_op {
	AGENT_HELLO,
	AGENT_CONNECT,
	AGENT_HANDSHAKE,
	AGENT_ESTABLISH,
	AGENT_CHECK,
	AGENT_LISTEN,
	AGENT_ADOPT,
	AGENT_ACCEPT,
	AGENT_PROXY_FORWARD,
	AGENT_DNS,
	AGENT_EXIT,
};

/* SPEC 4.2, in its order. */
enum agent_outcome {
	OUTCOME_CONNECTED,
	OUTCOME_ACCEPTED,
	OUTCOME_HANDSHAKE_COMPLETED,
	OUTCOME_HANDSHAKE_FAILED,
	OUTCOME_PROXY_REFUSED,
	OUTCOME_PROXY_FORWARDED,
	OUTCOME_CLOSED,
	OUTCOME_REFUSED,
	OUTCOME_RESET,
	OUTCOME_TIMEOUT,
	OUTCOME_UNREACHABLE,
	OUTCOME_NOT_PERMITTED,
	OUTCOME_PROBE_ERROR,
	OUTCOME_COUNT,
};

#define AGENT_HANDLE_SIZE 12 /* "c65536" and room */
#define AGENT_TARGET_SIZE 264
#define AGENT_LINE_MAX 4096 /* of a request; an answer has the same bound here */
#define AGENT_PENDING_MAX 64

/* What the operation does not use stays empty or 0. */
struct agent_request {
	int op;
	char address[INET_TEXT_SIZE];
	int64_t port;
	char target[AGENT_TARGET_SIZE];
	int64_t timeout_ms;
	char connection[AGENT_HANDLE_SIZE];
	char listener[AGENT_HANDLE_SIZE];
	int64_t expires_at_unix;
};

struct agent_answer {
	int op;
	int outcome;
	char connection[AGENT_HANDLE_SIZE];
	char listener[AGENT_HANDLE_SIZE];
	char remote_address[INET_TEXT_SIZE];
	int64_t pid, uid, gid;
	char probe_runner_sha256[DIGEST_TEXT_SIZE];
	char error_name[32]; /* errno by name */
	int64_t elapsed_us;
	char error[1100];
	bool has_op, has_outcome, has_connection, has_listener, has_remote_address,
		has_pid, has_uid, has_gid, has_digest, has_errno, has_elapsed, has_error;
	struct agent_sandbox {
		bool no_new_privs, seccomp, landlock;
	} sandbox;
	bool has_sandbox;
};

extern const struct json_table agent_answer_table;

struct agent_link {
	int input, output;              /* we write, we read; the same for a socket */
	char name[32];                  /* "candidate": for messages */
	struct wait *wait;              /* borrowed */
	struct decoder *decoder;        /* borrowed */
	size_t format;                  /* agent_answer_table's number in it */
	int pending[AGENT_PENDING_MAX]; /* operations in flight, a ring */
	size_t first, count;
	char held[AGENT_LINE_MAX];
	size_t held_size;
	struct diag failure; /* of the first refusal */
};

/* Takes over the descriptors (made non-blocking; `output` may equal `input`). */
int agentlink_open(int input, int output, const char *name, struct wait *wait,
		   struct decoder *decoder, size_t format, struct agent_link *ret_link,
		   struct diag *diag);
/* Closes the descriptors: an agent ends at end of file. */
void agentlink_close(struct agent_link *link);
bool agentlink_is_open(const struct agent_link *link);

/* Sends one request; its answer is owed. At most AGENT_PENDING_MAX at a time. */
int agentlink_send(struct agent_link *link, const struct agent_request *request,
		   struct diag *diag);

/* The same with a descriptor beside the line (AGENT_ADOPT), on a socket. */
int agentlink_send_fd(struct agent_link *link, const struct agent_request *request,
		      int fd, struct diag *diag);

/* Receives the next answer owed, until `deadline_ms` of clock_boot_ms(). */
int agentlink_receive(struct agent_link *link, int64_t deadline_ms,
		      struct agent_answer *ret_answer, struct diag *diag);

/* agentlink_send() and agentlink_receive(), within the request's own time-out
 * and a fixed allowance. */
int agentlink_ask(struct agent_link *link, const struct agent_request *request,
		  struct agent_answer *ret_answer, struct diag *diag);

/* Refuses bytes that nobody asked for, and an end of file. Does not wait. */
int agentlink_check_idle(struct agent_link *link, struct diag *diag);

/* The time an answer may take beyond the request's time-out. */
#define AGENT_ALLOWANCE_MS 5000

#endif
