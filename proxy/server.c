// SPDX-License-Identifier: GPL-2.0-or-later
// Answers whoever connects with 403, and closes.
#include "proxy/server.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/notify.h"
#include "common/own.h"
#include "proxy/head.h"

#define EVENTS 64
#define ACCEPTS 64 /* in a row, before the connections get their turn */
#define PIECE 4096
#define PAUSE_MS 100         /* without accepting, when the kernel has no more memory */
#define OTHER_DESCRIPTORS 16 /* standard ones, listener, epoll, and some room */
#define LISTENER_KEY UINT64_MAX

/* No body: right for every method, HEAD and CONNECT included (RFC 9110, 15.5.4). */
static const char answer[] = "HTTP/1.1 403 Forbidden\r\n"
			     "Content-Length: 0\r\n"
			     "Connection: close\r\n"
			     "\r\n";

enum state { STATE_WAITING, STATE_ANSWERED, STATE_COUNT, STATE_FREE };

struct connection {
	int fd;
	enum state state;
	/* Told apart from an earlier connection in the same place, for which an
	 * event may still be in hand. */
	uint32_t generation;
	int64_t since_ms; /* in its state */
	struct head head;
	size_t drained;
	struct connection *next, *previous;
};

struct queue {
	struct connection *first, *last;
};

struct server {
	int listener, epoll;
	int64_t now_ms;
	int64_t paused_until_ms; /* 0: accepting */
	int notify;
	int64_t beat_period_ms, next_beat_ms; /* of the watchdog; 0: none */
	struct queue queues[STATE_COUNT];
	struct connection *free;
	struct connection connections[SERVER_CONNECTIONS];
};

static const int64_t time_limits[STATE_COUNT] = {
	[STATE_WAITING] = SERVER_WAIT_MS, [STATE_ANSWERED] = SERVER_DRAIN_MS};

static void enqueue(struct server *server, struct connection *connection,
		    enum state state)
{
	struct queue *queue = &server->queues[state];

	connection->state = state;
	connection->since_ms = server->now_ms;
	connection->next = NULL;
	connection->previous = queue->last;
	if (queue->last)
		queue->last->next = connection;
	else
		queue->first = connection;
	queue->last = connection;
}

static void dequeue(struct server *server, struct connection *connection)
{
	struct queue *queue = &server->queues[connection->state];

	if (connection->previous)
		connection->previous->next = connection->next;
	else
		queue->first = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	else
		queue->last = connection->previous;
}

static void end_connection(struct server *server, struct connection *connection)
{
	dequeue(server, connection);
	/* Closing the only descriptor of a socket takes it out of epoll, too. */
	own_fd(&connection->fd);
	connection->state = STATE_FREE;
	connection->generation++;
	connection->next = server->free;
	server->free = connection;
}

/* Sends the answer and this side's end. It fits into a buffer that is empty, so a
 * short count means that the connection is broken. */
static void answer_connection(struct server *server, struct connection *connection)
{
	ssize_t count = send(connection->fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);

	if (count != (ssize_t)sizeof(answer) - 1 ||
	    shutdown(connection->fd, SHUT_WR) != 0) {
		end_connection(server, connection);
		return;
	}
	dequeue(server, connection);
	enqueue(server, connection, STATE_ANSWERED);
}

/* Its time in its state is up, or its peer has ended its side. */
static void finish_connection(struct server *server, struct connection *connection)
{
	if (connection->state == STATE_WAITING && connection->head.size > 0)
		answer_connection(server, connection);
	else
		end_connection(server, connection);
}

static void take_piece(struct server *server, struct connection *connection,
		       const char *data, size_t size)
{
	if (connection->state == STATE_WAITING) {
		if (head_is_over(&connection->head, data, size))
			answer_connection(server, connection);
	} else {
		connection->drained += size;
		if (connection->drained >= SERVER_DRAIN_LIMIT)
			end_connection(server, connection);
	}
}

/* One piece for each event: epoll tells again while there is more, and nobody
 * keeps the others waiting. */
static void read_connection(struct server *server, struct connection *connection)
{
	char piece[PIECE];
	ssize_t count = recv(connection->fd, piece, sizeof(piece), 0);

	if (count > 0) {
		take_piece(server, connection, piece, (size_t)count);
	} else if (count == 0) {
		/* A half-closed peer has asked all it will; one that ends after
		 * the answer has read it. */
		finish_connection(server, connection);
	} else if (errno != EAGAIN && errno != EINTR) {
		end_connection(server, connection); /* reset, or timed out */
	}
}

static struct connection *oldest(const struct server *server)
{
	struct connection *found = NULL;

	for (int state = 0; state < STATE_COUNT; state++) {
		struct connection *first = server->queues[state].first;

		if (first && (!found || first->since_ms < found->since_ms))
			found = first;
	}
	return found;
}

static int watch(const struct server *server, int operation, int fd, uint32_t events,
		 uint64_t key)
{
	struct epoll_event event = {.events = events, .data.u64 = key};

	return epoll_ctl(server->epoll, operation, fd, &event) == 0 ? 0 : -errno;
}

static void begin_connection(struct server *server, int fd)
{
	struct connection *connection;
	uint32_t place;

	if (!server->free)
		end_connection(server, oldest(server));
	connection = server->free;
	server->free = connection->next;
	place = (uint32_t)(connection - server->connections);
	connection->fd = fd;
	connection->head = (struct head){0};
	connection->drained = 0;
	enqueue(server, connection, STATE_WAITING);
	if (watch(server, EPOLL_CTL_ADD, fd, EPOLLIN,
		  (uint64_t)connection->generation << 32 | place) != 0)
		end_connection(server, connection); /* no kernel memory for it */
}

/* The kernel is short of something: what is oldest goes, and new ones wait. */
static int pause_accepting(struct server *server, struct diag *diag)
{
	struct connection *victim = oldest(server);
	int error;

	if (victim)
		end_connection(server, victim);
	error = watch(server, EPOLL_CTL_MOD, server->listener, 0, LISTENER_KEY);
	if (error)
		return diag_fail(diag, -error, NULL, "the listener cannot be paused");
	server->paused_until_ms = server->now_ms + PAUSE_MS;
	return 0;
}

static int resume_accepting(struct server *server, struct diag *diag)
{
	int error = watch(server, EPOLL_CTL_MOD, server->listener, EPOLLIN, LISTENER_KEY);

	if (error)
		return diag_fail(diag, -error, NULL, "the listener cannot be resumed");
	server->paused_until_ms = 0;
	return 0;
}

static int accept_connections(struct server *server, struct diag *diag)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(server->listener, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			begin_connection(server, fd);
			continue;
		}
		switch (errno) {
		case EAGAIN:
			return 0;
		case EMFILE:
		case ENFILE:
		case ENOBUFS:
		case ENOMEM:
			return pause_accepting(server, diag);
		case EBADF:
		case EFAULT:
		case EINVAL:
		case ENOTSOCK:
			return diag_fail(diag, errno, NULL, "accept");
		default:
			/* The connection failed before it was accepted: accept(2). */
			break;
		}
	}
	return 0;
}

static void end_overdue(struct server *server)
{
	for (int state = 0; state < STATE_COUNT; state++) {
		struct queue *queue = &server->queues[state];

		while (queue->first &&
		       server->now_ms - queue->first->since_ms >= time_limits[state])
			finish_connection(server, queue->first);
	}
}

/* Milliseconds until the next thing that time alone brings; -1: nothing. */
static int until_next(const struct server *server)
{
	int64_t next = server->paused_until_ms ? server->paused_until_ms : INT64_MAX;

	if (server->beat_period_ms && server->next_beat_ms < next)
		next = server->next_beat_ms;

	for (int state = 0; state < STATE_COUNT; state++) {
		const struct connection *first = server->queues[state].first;

		if (first && first->since_ms + time_limits[state] < next)
			next = first->since_ms + time_limits[state];
	}
	if (next == INT64_MAX)
		return -1;
	return next > server->now_ms ? (int)(next - server->now_ms) : 0;
}

static int take_event(struct server *server, uint64_t key, struct diag *diag)
{
	struct connection *connection;

	if (key == LISTENER_KEY)
		return accept_connections(server, diag);
	connection = &server->connections[key & UINT32_MAX];
	assert(connection < server->connections + SERVER_CONNECTIONS);
	if (connection->state != STATE_FREE && connection->generation == key >> 32)
		read_connection(server, connection);
	return 0;
}

static void beat(struct server *server)
{
	if (!server->beat_period_ms || server->now_ms < server->next_beat_ms)
		return;
	notify_send(server->notify, "WATCHDOG=1");
	server->next_beat_ms = server->now_ms + server->beat_period_ms;
}

void server_set_watchdog(struct server *server, int notify, int64_t period_ms)
{
	server->notify = notify;
	server->beat_period_ms = period_ms;
}

int server_run(struct server *server, struct diag *diag)
{
	struct epoll_event events[EVENTS];

	for (;;) {
		int count, error = 0;

		server->now_ms = clock_boot_ms();
		end_overdue(server);
		beat(server);
		if (server->paused_until_ms && server->paused_until_ms <= server->now_ms)
			error = resume_accepting(server, diag);
		if (error)
			return error;
		count = epoll_wait(server->epoll, events, EVENTS, until_next(server));
		if (count < 0 && errno != EINTR)
			return diag_fail(diag, errno, NULL, "epoll_wait");
		server->now_ms = clock_boot_ms();
		for (int i = 0; i < count && !error; i++)
			error = take_event(server, events[i].data.u64, diag);
		if (error)
			return error;
	}
}

static int allow_descriptors(struct diag *diag)
{
	const rlim_t needed = SERVER_CONNECTIONS + OTHER_DESCRIPTORS;
	struct rlimit limits;

	if (getrlimit(RLIMIT_NOFILE, &limits) != 0)
		return diag_fail(diag, errno, NULL, "getrlimit");
	if (limits.rlim_max < needed)
		return diag_refuse(diag, NULL,
				   "%llu open files are too few (ulimit -Hn): %llu are "
				   "needed",
				   (unsigned long long)limits.rlim_max,
				   (unsigned long long)needed);
	limits.rlim_cur = limits.rlim_max = needed;
	if (setrlimit(RLIMIT_NOFILE, &limits) != 0)
		return diag_fail(diag, errno, NULL, "setrlimit");
	return 0;
}

int server_open(int listener, struct server **ret_server, struct diag *diag)
{
	struct server *server;
	int error = allow_descriptors(diag);

	if (error)
		return error;
	server = calloc(1, sizeof(*server));
	if (!server)
		return diag_no_memory(diag);
	for (size_t i = SERVER_CONNECTIONS; i > 0; i--) {
		server->connections[i - 1].fd = -1;
		server->connections[i - 1].state = STATE_FREE;
		server->connections[i - 1].next = server->free;
		server->free = &server->connections[i - 1];
	}
	server->listener = listener;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	error = server->epoll < 0
			? -errno
			: watch(server, EPOLL_CTL_ADD, listener, EPOLLIN, LISTENER_KEY);
	if (error) {
		server_release(server);
		return diag_fail(diag, -error, NULL, "epoll");
	}
	*ret_server = server;
	return 0;
}

int server_epoll(const struct server *server)
{
	return server->epoll;
}

void server_release(struct server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
		own_fd(&server->connections[i].fd);
	own_fd(&server->epoll);
	free(server);
}
