// SPDX-License-Identifier: GPL-2.0-or-later
// A session with one probe agent: pipelined requests, ordered answers (SPEC 4.1).
#include "collector/agentlink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "collector/measure.h"
#include "common/clock.h"

static const char *const op_names[] = {
	"hello", "connect", "handshake",     "establish", "check", "listen",
	"adopt", "accept",  "proxy_forward", "dns",       "exit",  NULL};
static const char *const outcome_names[] = {"connected",
					    "accepted",
					    "handshake_completed",
					    "handshake_failed",
					    "proxy_refused",
					    "proxy_forwarded",
					    "closed",
					    "refused",
					    "reset",
					    "timeout",
					    "unreachable",
					    "not_permitted",
					    "probe_error",
					    NULL};

#define BIT(outcome) (1u << (outcome))
#define FAILED                                                                           \
	(BIT(OUTCOME_REFUSED) | BIT(OUTCOME_RESET) | BIT(OUTCOME_TIMEOUT) |              \
	 BIT(OUTCOME_UNREACHABLE) | BIT(OUTCOME_NOT_PERMITTED) |                         \
	 BIT(OUTCOME_PROBE_ERROR))

/* What each operation may answer; 0: it has no outcome. */
static const unsigned int possible[] = {
	[AGENT_HELLO] = 0,
	[AGENT_CONNECT] = BIT(OUTCOME_CONNECTED) | FAILED,
	[AGENT_HANDSHAKE] =
		BIT(OUTCOME_HANDSHAKE_COMPLETED) | BIT(OUTCOME_HANDSHAKE_FAILED) | FAILED,
	[AGENT_ESTABLISH] = BIT(OUTCOME_CONNECTED) | FAILED,
	[AGENT_CHECK] = BIT(OUTCOME_CONNECTED) | BIT(OUTCOME_CLOSED) | FAILED,
	[AGENT_LISTEN] = BIT(OUTCOME_CONNECTED) | BIT(OUTCOME_ACCEPTED) | FAILED,
	/* Closed: it came after the expiry it names. */
	[AGENT_ADOPT] = BIT(OUTCOME_CONNECTED) | BIT(OUTCOME_ACCEPTED) |
			BIT(OUTCOME_CLOSED) | FAILED,
	[AGENT_ACCEPT] = BIT(OUTCOME_ACCEPTED) | BIT(OUTCOME_CLOSED) | FAILED,
	[AGENT_PROXY_FORWARD] = BIT(OUTCOME_PROXY_REFUSED) |
				BIT(OUTCOME_PROXY_FORWARDED) | BIT(OUTCOME_CLOSED) |
				FAILED,
	[AGENT_DNS] = BIT(OUTCOME_CONNECTED) | BIT(OUTCOME_CLOSED) | FAILED,
	[AGENT_EXIT] = 0,
};

static bool is_handle(const char *text)
{
	return (text[0] == 'c' || text[0] == 'l') && text[1] >= '1' && text[1] <= '9' &&
	       text[1 + strspn(text + 1, "0123456789")] == '\0';
}

static const struct json_rule rule_handle = {"a handle", is_handle};

static bool is_text(const char *text)
{
	(void)text;
	return true;
}

/* What an agent says of an error is shown to people: diag makes it harmless. */
static const struct json_rule rule_any = {"text", is_text};

static const struct json_field sandbox_fields[] = {
	{JSON_BOOLEAN(struct agent_sandbox, no_new_privs)},
	{JSON_BOOLEAN(struct agent_sandbox, seccomp)},
	{JSON_BOOLEAN(struct agent_sandbox, landlock)},
};
static const struct json_table sandbox_table =
	JSON_TABLE(struct agent_sandbox, sandbox_fields);

#define ID_MAX 4294967295

static const struct json_field answer_fields[] = {
	{JSON_LITERAL("schema", "netproof.agent.v1")},
	/* A request whose operation cannot be told is answered without one. */
	{JSON_CHOICE(struct agent_answer, op, op_names),
	 JSON_OPTIONAL(struct agent_answer, has_op)},
	{JSON_CHOICE(struct agent_answer, outcome, outcome_names),
	 JSON_OPTIONAL(struct agent_answer, has_outcome)},
	{JSON_TEXT(struct agent_answer, connection, 2, &rule_handle),
	 JSON_OPTIONAL(struct agent_answer, has_connection)},
	{JSON_TEXT(struct agent_answer, listener, 2, &rule_handle),
	 JSON_OPTIONAL(struct agent_answer, has_listener)},
	{JSON_TEXT(struct agent_answer, remote_address, 2, &json_rule_address),
	 JSON_OPTIONAL(struct agent_answer, has_remote_address)},
	{JSON_INTEGER(struct agent_answer, pid, 1, ID_MAX),
	 JSON_OPTIONAL(struct agent_answer, has_pid)},
	{JSON_INTEGER(struct agent_answer, uid, 0, ID_MAX),
	 JSON_OPTIONAL(struct agent_answer, has_uid)},
	{JSON_INTEGER(struct agent_answer, gid, 0, ID_MAX),
	 JSON_OPTIONAL(struct agent_answer, has_gid)},
	{JSON_DIGEST(struct agent_answer, probe_runner_sha256),
	 JSON_OPTIONAL(struct agent_answer, has_digest)},
	{JSON_OBJECT(struct agent_answer, sandbox, &sandbox_table),
	 JSON_OPTIONAL(struct agent_answer, has_sandbox)},
	{.key = "errno",
	 .type = &json_type_text,
	 .offset = offsetof(struct agent_answer, error_name),
	 .size = JSON_MEMBER_SIZE(struct agent_answer, error_name),
	 .min = 1,
	 .max = (int64_t)JSON_MEMBER_SIZE(struct agent_answer, error_name) - 1,
	 .detail = &json_rule_ascii,
	 JSON_OPTIONAL(struct agent_answer, has_errno)},
	{JSON_INTEGER(struct agent_answer, elapsed_us, 0, JSON_MAX_INTEGER),
	 JSON_OPTIONAL(struct agent_answer, has_elapsed)},
	{JSON_TEXT(struct agent_answer, error, 1, &rule_any),
	 JSON_OPTIONAL(struct agent_answer, has_error)},
};
const struct json_table agent_answer_table =
	JSON_TABLE(struct agent_answer, answer_fields);

/* A request's line, made from the same kind of table. */
struct request_line {
	struct agent_request request;
	bool has_address, has_port, has_target, has_timeout, has_connection, has_listener,
		has_expiry;
};

static const struct json_field request_fields[] = {
	{JSON_CHOICE(struct agent_request, op, op_names)},
	{JSON_TEXT(struct agent_request, address, 2, &json_rule_address),
	 JSON_OPTIONAL(struct request_line, has_address)},
	{JSON_INTEGER(struct agent_request, port, 1, 65535),
	 JSON_OPTIONAL(struct request_line, has_port)},
	{JSON_TEXT(struct agent_request, target, 1, &json_rule_ascii),
	 JSON_OPTIONAL(struct request_line, has_target)},
	{JSON_INTEGER(struct agent_request, timeout_ms, 1, 120000),
	 JSON_OPTIONAL(struct request_line, has_timeout)},
	{JSON_TEXT(struct agent_request, connection, 2, &rule_handle),
	 JSON_OPTIONAL(struct request_line, has_connection)},
	{JSON_TEXT(struct agent_request, listener, 2, &rule_handle),
	 JSON_OPTIONAL(struct request_line, has_listener)},
	{JSON_INTEGER(struct agent_request, expires_at_unix, 1, JSON_MAX_INTEGER),
	 JSON_OPTIONAL(struct request_line, has_expiry)},
};
static const struct json_table request_table =
	JSON_TABLE(struct request_line, request_fields);

int agentlink_open(int input, int output, const char *name, struct wait *wait,
		   struct decoder *decoder, size_t format, struct agent_link *ret_link,
		   struct diag *diag)
{
	*ret_link = (struct agent_link){.input = input,
					.output = output,
					.wait = wait,
					.decoder = decoder,
					.format = format};
	strncpy(ret_link->name, name, sizeof(ret_link->name) - 1);
	if (fcntl(input, F_SETFL, O_NONBLOCK) != 0 ||
	    fcntl(output, F_SETFL, O_NONBLOCK) != 0)
		return diag_fail(diag, errno, name, "cannot be made non-blocking");
	return 0;
}

void agentlink_close(struct agent_link *link)
{
	if (link->output != link->input)
		own_fd(&link->output);
	own_fd(&link->input);
	link->output = -1;
	link->count = 0;
}

bool agentlink_is_open(const struct agent_link *link)
{
	return link->input >= 0;
}

/* The session's one failure: the first stands for all that follow. */
__attribute__((format(printf, 3, 4))) static int end_session(struct agent_link *link,
							     struct diag *diag,
							     const char *format, ...)
{
	char text[DIAG_TEXT_SIZE], place[48];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(place, sizeof(place), "%s agent", link->name);
	diag_refuse(&link->failure, place, "%s", text);
	return diag_refuse(diag, link->failure.place, "%s", link->failure.text);
}

static int check_session(struct agent_link *link, struct diag *diag)
{
	if (!link->failure.kind)
		return 0;
	return diag_refuse(diag, link->failure.place, "%s", link->failure.text);
}

static int make_line(const struct agent_request *request, struct bytes *ret_line,
		     struct diag *diag)
{
	struct request_line line = {
		.request = *request,
		.has_address = request->address[0],
		.has_port = request->port,
		.has_target = request->target[0],
		.has_timeout = request->timeout_ms,
		.has_connection = request->connection[0],
		.has_listener = request->listener[0],
		.has_expiry = request->expires_at_unix,
	};
	int error = json_table_write(&request_table, &line, ret_line, diag);

	if (error)
		return error;
	assert(ret_line->size < AGENT_LINE_MAX);
	ret_line->data[ret_line->size++] = '\n'; /* in place of the NUL */
	return 0;
}

/* One write of the line, with `fd` beside its first byte if there is one. */
static ssize_t put(const struct agent_link *link, const char *data, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)data, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *head;

	if (fd < 0)
		return write(link->input, data, size);
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	head = CMSG_FIRSTHDR(&message);
	*head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(link->input, &message, MSG_NOSIGNAL);
}

static int put_line(struct agent_link *link, const struct bytes *line, int fd,
		    struct diag *diag)
{
	int64_t deadline = clock_boot_ms() + AGENT_ALLOWANCE_MS;

	for (size_t done = 0; done < line->size;) {
		struct pollfd polled = {.fd = link->input, .events = POLLOUT};
		ssize_t moved =
			put(link, line->data + done, line->size - done, done ? -1 : fd);
		int ready;

		if (moved > 0) {
			done += (size_t)moved;
			continue;
		}
		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0 && errno != EAGAIN)
			return end_session(
				link, diag,
				"has ended before it was asked" MEASURE_HINT_LOG);
		ready = wait_poll(link->wait, &polled, 1, deadline, diag);
		if (ready < 0)
			return ready;
		if (ready == 0)
			return end_session(
				link, diag,
				"does not read its requests" MEASURE_HINT_IMPOSTOR);
	}
	return 0;
}

int agentlink_send_fd(struct agent_link *link, const struct agent_request *request,
		      int fd, struct diag *diag)
{
	OWN(own_bytes) struct bytes line = {0};
	int error = check_session(link, diag);

	assert(link->count < AGENT_PENDING_MAX && link->input >= 0);
	if (!error)
		error = make_line(request, &line, diag);
	if (!error)
		error = put_line(link, &line, fd, diag);
	if (error)
		return error;
	link->pending[(link->first + link->count++) % AGENT_PENDING_MAX] = request->op;
	return 0;
}

int agentlink_send(struct agent_link *link, const struct agent_request *request,
		   struct diag *diag)
{
	return agentlink_send_fd(link, request, -1, diag);
}

/* Reads until `held` has a whole line, whose length without newline it gives. */
static int get_line(struct agent_link *link, int64_t deadline, size_t *ret_length,
		    struct diag *diag)
{
	for (;;) {
		struct pollfd polled = {.fd = link->output, .events = POLLIN};
		const char *end = memchr(link->held, '\n', link->held_size);
		ssize_t got;
		int ready;

		if (end) {
			*ret_length = (size_t)(end - link->held);
			return 0;
		}
		if (link->held_size == sizeof(link->held))
			return end_session(
				link, diag,
				"a line of more than %d bytes" MEASURE_HINT_IMPOSTOR,
				AGENT_LINE_MAX);
		got = read(link->output, link->held + link->held_size,
			   sizeof(link->held) - link->held_size);
		if (got > 0) {
			link->held_size += (size_t)got;
			continue;
		}
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			return end_session(
				link, diag,
				"ended in the middle of its phase" MEASURE_HINT_LOG);
		ready = wait_poll(link->wait, &polled, 1, deadline, diag);
		if (ready < 0)
			return ready;
		if (ready == 0)
			return end_session(link, diag,
					   "gave no answer in time; see whether it "
					   "hangs, or the host is too busy");
	}
}

static int judge_answer(struct agent_link *link, int op,
			const struct agent_answer *answer, struct diag *diag)
{
	if (answer->has_error)
		return end_session(link, diag,
				   "refused the request (%s)" MEASURE_HINT_IMPOSTOR,
				   answer->error);
	if (!answer->has_op || answer->op != op)
		return end_session(
			link, diag,
			"answered %s, not %s: out of order" MEASURE_HINT_IMPOSTOR,
			op_names[answer->op], op_names[op]);
	if (!possible[op])
		return 0;
	if (answer->has_outcome && !(possible[op] & BIT(answer->outcome)))
		return end_session(link, diag,
				   "%s cannot end as %s" MEASURE_HINT_IMPOSTOR,
				   op_names[op], outcome_names[answer->outcome]);
	if (!answer->has_outcome && op != AGENT_LISTEN && op != AGENT_ADOPT)
		return end_session(link, diag,
				   "%s without an outcome" MEASURE_HINT_IMPOSTOR,
				   op_names[op]);
	return 0;
}

int agentlink_receive(struct agent_link *link, int64_t deadline_ms,
		      struct agent_answer *ret_answer, struct diag *diag)
{
	struct agent_answer answer;
	struct diag refusal = {0};
	size_t length = 0;
	int error = check_session(link, diag), op;

	assert(link->count > 0);
	if (!error)
		error = get_line(link, deadline_ms, &length, diag);
	if (error)
		return error;
	op = link->pending[link->first];
	link->first = (link->first + 1) % AGENT_PENDING_MAX;
	link->count--;
	error = decoder_parse(link->decoder, link->format, link->held, length, "answer",
			      &answer, &refusal);
	link->held_size -= length + 1;
	memmove(link->held, link->held + length + 1, link->held_size);
	if (error && refusal.kind == DIAG_UNDECIDED) {
		*diag = diag->kind ? *diag : refusal;
		return error;
	}
	if (error)
		return end_session(link, diag, "%s: %s" MEASURE_HINT_IMPOSTOR,
				   refusal.place, refusal.text);
	error = judge_answer(link, op, &answer, diag);
	if (error)
		return error;
	*ret_answer = answer;
	return 0;
}

int agentlink_ask(struct agent_link *link, const struct agent_request *request,
		  struct agent_answer *ret_answer, struct diag *diag)
{
	int error = agentlink_send(link, request, diag);

	return error ? error
		     : agentlink_receive(link,
					 clock_boot_ms() + request->timeout_ms +
						 AGENT_ALLOWANCE_MS,
					 ret_answer, diag);
}

int agentlink_check_idle(struct agent_link *link, struct diag *diag)
{
	int error = check_session(link, diag);
	ssize_t got;

	assert(link->count == 0);
	if (error)
		return error;
	got = link->held_size ? 1 : read(link->output, link->held, sizeof(link->held));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return end_session(link, diag,
				   "ended in the middle of its phase" MEASURE_HINT_LOG);
	return end_session(link, diag,
			   "sent what nobody asked for" MEASURE_HINT_IMPOSTOR);
}
