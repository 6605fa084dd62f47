// SPDX-License-Identifier: GPL-2.0-or-later
// A session: request lines in, answer lines out, on descriptors 0 and 1.
//
// syscalls: read recvmsg write poll epoll_wait epoll_ctl close
#include "agent/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/queue.h"
#include "common/own.h"

#define INPUT_FD STDIN_FILENO
#define OUTPUT_FD STDOUT_FILENO

#define REQUESTS_MAX 65536
#define INPUT_SIZE ((size_t)16 * 1024)
#define OUTPUT_SIZE ((size_t)32 * 1024)
/* A pipe that can be written takes this much without blocking (pipe(7)). */
#define WRITE_PIECE 4096
#define EVENTS_MAX 80
/* Room to see that a client passed more descriptors than the one it may. */
#define PASSED_MAX 4

_Static_assert(INPUT_SIZE > REQUEST_LINE_MAX + 1, "a whole line fits");
_Static_assert(OUTPUT_SIZE > ANSWER_LINE_MAX, "a whole answer fits");

struct session {
	struct agent *agent;
	struct queue queue;
	char input[INPUT_SIZE];
	size_t input_start, input_end;
	char output[OUTPUT_SIZE];
	size_t output_start, output_end;
	unsigned int requests;
	bool is_input_over;      /* end of input; what has arrived is served */
	bool is_ending;          /* nothing more is started */
	bool is_gone;            /* nobody reads the answers */
	bool is_stopped;         /* by a signal */
	bool is_input_file;      /* always ready, and so not in the epoll */
	bool is_input_watched;   /* by epoll */
	bool is_output_file;     /* likewise */
	uint32_t output_watched; /* epoll's events */
	struct diag refusal;     /* why a request was refused */
};

/* --- input --------------------------------------------------------------- */

static void refuse(struct session *session, enum request_op op, const struct diag *diag)
{
	session->refusal = *diag;
	session->is_ending = true;
	queue_refuse(&session->queue, op, diag);
}

__attribute__((format(printf, 2, 3))) static void refuse_text(struct session *session,
							      const char *format, ...)
{
	char text[DIAG_TEXT_SIZE];
	struct diag diag = {0};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	diag_refuse(&diag, "request", "%s", text);
	refuse(session, REQUEST_OP_COUNT, &diag);
}

/* Starts the request of one line, or puts its refusal into the queue. */
static void start_line(struct session *session, const char *line, size_t size)
{
	enum request_op op = REQUEST_OP_COUNT;
	struct request request;
	struct diag diag = {0};
	int error;

	if (session->requests++ >= REQUESTS_MAX) {
		refuse_text(session, "more than %d in one session", REQUESTS_MAX);
		return;
	}
	error = request_decode(line, size, &request, &op, &diag);
	if (!error)
		error = queue_start(&session->queue, &request, &diag);
	if (error)
		refuse(session, op, &diag);
	else if (op == REQUEST_EXIT)
		session->is_ending = true;
}

/* Starts what has arrived and may be started. Returns whether anything was. */
static bool start_requests(struct session *session)
{
	bool is_started = false;

	while (!session->is_ending && !queue_is_full(&session->queue)) {
		const char *start = session->input + session->input_start;
		size_t size = session->input_end - session->input_start;
		const char *end = memchr(start, '\n', size);
		size_t length = end ? (size_t)(end - start) : size;

		if (length > REQUEST_LINE_MAX)
			refuse_text(session, "longer than %d bytes", REQUEST_LINE_MAX);
		else if (end)
			start_line(session, start, length);
		else if (session->is_input_over && size > 0)
			refuse_text(session, "the input ends within a line");
		else
			break;
		is_started = true;
		session->input_start += length + (end ? 1 : 0);
	}
	if (session->is_input_over && session->input_start == session->input_end)
		session->is_ending = true;
	return is_started;
}

static void keep_passed(struct session *session, const int *fds, size_t count)
{
	struct agent *agent = session->agent;

	if (count == 1 && agent->passed_count < AGENT_PASSED_MAX) {
		agent->passed_fds[agent->passed_count++] = fds[0];
		return;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	if (!session->is_ending)
		refuse_text(session, "more descriptors than adopts");
}

static ssize_t receive(struct session *session, char *room, size_t size)
{
	union {
		char bytes[CMSG_SPACE(PASSED_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec piece = {room, size};
	struct msghdr message = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(INPUT_FD, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (got < 0)
		return got;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		int fds[PASSED_MAX];
		size_t bytes = header->cmsg_len - CMSG_LEN(0);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
		    bytes > sizeof(fds))
			continue;
		memcpy(fds, CMSG_DATA(header), bytes);
		keep_passed(session, fds, bytes / sizeof(int));
	}
	return got;
}

/* Reads what is there, once. The queue has room, so a refusal has, too. */
static int read_input(struct session *session, struct diag *diag)
{
	size_t held = session->input_end - session->input_start;
	ssize_t got;

	memmove(session->input, session->input + session->input_start, held);
	session->input_start = 0;
	session->input_end = held;
	if (session->agent->can_adopt)
		got = receive(session, session->input + held, INPUT_SIZE - held);
	else
		got = read(INPUT_FD, session->input + held, INPUT_SIZE - held);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0 && errno == ECONNRESET) {
		/* A socket whose peer left without reading our last answers. */
		session->is_gone = true;
		return 0;
	}
	if (got < 0)
		return diag_fail(diag, errno, NULL, "requests cannot be read");
	session->input_end += (size_t)got;
	session->is_input_over = got == 0;
	return 0;
}

/* --- output -------------------------------------------------------------- */

/* Whether an answer is there, and room for any. */
static bool can_encode(const struct session *session)
{
	return queue_next_answer(&session->queue) &&
	       OUTPUT_SIZE - (session->output_end - session->output_start) >=
		       ANSWER_LINE_MAX;
}

/* Moves answers into the output buffer while they fit. Sets `*ret_is_moved` if there
 * was one. */
static int encode_answers(struct session *session, bool *ret_is_moved, struct diag *diag)
{
	while (can_encode(session)) {
		size_t held = session->output_end - session->output_start;
		OWN(own_bytes) struct bytes bytes = {0};
		int error = json_table_write(
			&answer_table, queue_next_answer(&session->queue), &bytes, diag);

		if (error)
			return error;
		if (OUTPUT_SIZE - session->output_end < ANSWER_LINE_MAX) {
			memmove(session->output, session->output + session->output_start,
				held);
			session->output_start = 0;
			session->output_end = held;
		}
		memcpy(session->output + session->output_end, bytes.data, bytes.size);
		session->output_end += bytes.size;
		session->output[session->output_end++] = '\n';
		queue_pop(&session->queue);
		*ret_is_moved = true;
	}
	return 0;
}

static bool is_writable(void)
{
	struct pollfd output = {.fd = OUTPUT_FD, .events = POLLOUT};

	return poll(&output, 1, 0) == 1;
}

static int write_answers(struct session *session, struct diag *diag)
{
	while (session->output_start < session->output_end && is_writable()) {
		size_t held = session->output_end - session->output_start;
		ssize_t put = write(OUTPUT_FD, session->output + session->output_start,
				    held < WRITE_PIECE ? held : WRITE_PIECE);

		if (put < 0 && errno == EAGAIN)
			break;
		if (put < 0 && (errno == EPIPE || errno == ECONNRESET)) {
			session->is_gone = true;
			break;
		}
		if (put < 0)
			return diag_fail(diag, errno, NULL, "answers cannot be written");
		session->output_start += (size_t)put;
	}
	if (session->output_start == session->output_end)
		session->output_start = session->output_end = 0;
	return 0;
}

/* --- the loop ------------------------------------------------------------ */

/* Watches exactly what can be served now: a client that cannot be served must not
 * wake us. */
static int watch_client(struct session *session, struct diag *diag)
{
	const struct agent *agent = session->agent;
	bool is_input_wanted = !session->is_ending && !session->is_input_over &&
			       !queue_is_full(&session->queue);
	uint32_t output_wanted =
		session->output_start < session->output_end ? EPOLLOUT : 0;
	int error = 0;

	if (!session->is_input_file && is_input_wanted != session->is_input_watched) {
		if (is_input_wanted)
			error = agent_watch(agent, INPUT_FD, EPOLLIN, AGENT_EVENT_INPUT);
		else
			agent_unwatch(agent, INPUT_FD);
		session->is_input_file = error == -EPERM;
		session->is_input_watched = is_input_wanted && !error;
	}
	if (error && error != -EPERM)
		return diag_fail(diag, -error, NULL, "requests cannot be awaited");
	if (!session->is_output_file && output_wanted != session->output_watched) {
		error = agent_rewatch(agent, OUTPUT_FD, output_wanted,
				      AGENT_EVENT_OUTPUT);
		if (error)
			return diag_fail(diag, -error, NULL, "answers cannot be awaited");
		session->output_watched = output_wanted;
	}
	return 0;
}

/* Whether the loop has something to do without waiting. */
static bool is_busy(const struct session *session)
{
	return (session->is_input_file && !session->is_ending &&
		!session->is_input_over && !queue_is_full(&session->queue)) ||
	       (session->is_output_file && session->output_start < session->output_end);
}

static int dispatch(struct session *session, const struct epoll_event *event,
		    struct diag *diag)
{
	switch (event->data.u64) {
	case AGENT_EVENT_INPUT:
		return read_input(session, diag);
	case AGENT_EVENT_OUTPUT:
		if (event->events & (EPOLLERR | EPOLLHUP))
			session->is_gone = true;
		return 0;
	case AGENT_EVENT_SIGNAL:
		session->is_stopped = true;
		return 0;
	case AGENT_EVENT_WALL_TIMER:
	case AGENT_EVENT_BOOT_TIMER:
		/* Arming reads the timer empty; it must not wake us again. */
		agent_arm_expiry(session->agent);
		return 0;
	default:
		queue_dispatch(&session->queue, event->data.u64);
		return 0;
	}
}

static int wait_for_events(struct session *session, struct diag *diag)
{
	struct epoll_event events[EVENTS_MAX];
	int error = watch_client(session, diag);
	int count;

	if (error)
		return error;
	count = epoll_wait(session->agent->epoll_fd, events, EVENTS_MAX,
			   is_busy(session) ? 0 : queue_timeout_ms(&session->queue));
	if (count < 0 && errno != EINTR)
		return diag_fail(diag, errno, NULL, "epoll_wait");
	for (int i = 0; i < count && !error; i++)
		error = dispatch(session, &events[i], diag);
	if (!error && session->is_input_file && is_busy(session))
		error = read_input(session, diag);
	return error;
}

/* Starting makes answers, and answering makes room to start: round after round, until
 * only the world outside can bring us further. */
static int turn(struct session *session, struct diag *diag)
{
	bool is_moved = true;
	int error = 0;

	queue_end_overdue(&session->queue);
	while (!error && is_moved && !session->is_gone) {
		is_moved = start_requests(session);
		error = encode_answers(session, &is_moved, diag);
		if (!error)
			error = write_answers(session, diag);
		is_moved = is_moved || can_encode(session);
	}
	return error;
}

static bool is_all_answered(const struct session *session)
{
	return session->queue.count == 0 && session->output_start == session->output_end;
}

static int open_session(struct session *session, struct agent *agent, struct diag *diag)
{
	int error;

	session->agent = session->queue.agent = agent;
	error = agent_watch(agent, OUTPUT_FD, 0, AGENT_EVENT_OUTPUT);
	session->is_output_file = error == -EPERM;
	if (error && error != -EPERM)
		return diag_fail(diag, -error, NULL, "answers cannot be awaited");
	return 0;
}

static int conclude(const struct session *session, struct diag *diag)
{
	bool is_unserved =
		!session->is_ending && session->input_start < session->input_end;

	if (session->is_stopped)
		return 0;
	if (!is_all_answered(session) || is_unserved)
		return diag_fail(diag, 0, NULL,
				 "the client went away before every answer");
	if (session->refusal.kind != DIAG_NONE) {
		*diag = session->refusal;
		return -EINVAL;
	}
	return 0;
}

int session_run(struct agent *agent, struct diag *diag)
{
	/* Too large for the stack; a process serves one session. */
	static struct session session;
	int error = open_session(&session, agent, diag);

	while (!error) {
		error = turn(&session, diag);
		if (error || session.is_gone || session.is_stopped ||
		    (session.is_ending && is_all_answered(&session)))
			break;
		error = wait_for_events(&session, diag);
	}
	return error ? error : conclude(&session, diag);
}
