// SPDX-License-Identifier: GPL-2.0-or-later
// Times the agent beside the least that the same work can cost.
//
//	measure start PROBE EMPTY     microseconds: "EMPTY_US HELLO_US"
//	measure connect PROBE ADDRESS COUNT
//	                              per second: "BARE NONE_OPEN HANDLES_OPEN"
//
// Both sides of a comparison take turns, so that what else the machine does meets
// both alike; of the turns the median counts.
#include <arpa/inet.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_TURNS 400
#define CONNECT_TURNS 7
#define HANDLES 64

extern char **environ;

static void require(int condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *left, const void *right)
{
	double difference = *(const double *)left - *(const double *)right;

	return (difference > 0) - (difference < 0);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

struct child {
	pid_t pid;
	int to, from;
};

static void start(struct child *child, const char *program, const char *argument)
{
	posix_spawn_file_actions_t actions;
	char *arguments[] = {(char *)program, (char *)argument, NULL};
	int to[2], from[2];

	require(pipe(to) == 0 && pipe(from) == 0, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	for (int i = 0; i < 2; i++) {
		posix_spawn_file_actions_addclose(&actions, to[i]);
		posix_spawn_file_actions_addclose(&actions, from[i]);
	}
	require(posix_spawn(&child->pid, program, &actions, NULL, arguments, environ) ==
			0,
		program);
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	child->to = to[1];
	child->from = from[0];
}

static void finish(struct child *child)
{
	int status;

	close(child->to);
	close(child->from);
	require(waitpid(child->pid, &status, 0) == child->pid, "waitpid");
}

static double time_empty(const char *program)
{
	double begun = now_us();
	struct child child;
	int status;

	start(&child, program, NULL);
	require(waitpid(child.pid, &status, 0) == child.pid, "waitpid");
	close(child.to);
	close(child.from);
	return now_us() - begun;
}

static double time_hello(const char *program)
{
	static const char hello[] = "{\"op\":\"hello\"}\n";
	double begun = now_us(), took;
	struct child child;
	char answer[4096];
	ssize_t got;

	start(&child, program, "net-agent");
	require(write(child.to, hello, sizeof(hello) - 1) > 0, "write");
	got = read(child.from, answer, sizeof(answer));
	took = now_us() - begun;
	require(got > 0 && answer[got - 1] == '\n', "hello");
	finish(&child);
	return took;
}

static void measure_start(const char *probe, const char *empty)
{
	static double empties[START_TURNS], hellos[START_TURNS];

	for (int i = 0; i < START_TURNS; i++) {
		empties[i] = time_empty(empty);
		hellos[i] = time_hello(probe);
	}
	printf("%.1f %.1f\n", median(empties, START_TURNS), median(hellos, START_TURNS));
}

static double rate_bare(const struct sockaddr_in *address, int count)
{
	double begun = now_us();

	for (int i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		require(connect(fd, (const struct sockaddr *)address, sizeof(*address)) ==
				0,
			"connect");
		close(fd);
	}
	return count / (now_us() - begun) * 1e6;
}

/* Sends `count` times `line` and reads as many answers, both as fast as they go. */
static void pump(struct child *child, const char *line, int count, const char *wanted)
{
	static char block[64 * 1024], answers[64 * 1024];
	size_t length = strlen(line), lines = sizeof(block) / length, left;
	int answered = 0;

	for (size_t i = 0; i < lines; i++)
		memcpy(block + i * length, line, length);
	left = length * (size_t)count;
	while (answered < count) {
		struct pollfd waits[] = {{.fd = left ? child->to : -1, .events = POLLOUT},
					 {.fd = child->from, .events = POLLIN}};

		require(poll(waits, 2, -1) > 0, "poll");
		if (waits[1].revents) {
			ssize_t got = read(child->from, answers, sizeof(answers) - 1);

			require(got > 0, "answers");
			answers[got] = '\0';
			if (answered == 0)
				require(strstr(answers, wanted) != NULL, answers);
			for (ssize_t i = 0; i < got; i++)
				answered += answers[i] == '\n';
		}
		if (waits[0].revents) {
			/* As much as a pipe takes without blocking. */
			size_t offset =
				(length * (size_t)count - left) % (lines * length);
			size_t size = lines * length - offset;
			ssize_t put;

			size = size < left ? size : left;
			put = write(child->to, block + offset, size < 4096 ? size : 4096);
			require(put > 0, "requests");
			left -= (size_t)put;
		}
	}
}

static double rate_agent(const char *probe, const char *address, const char *port,
			 int count, int handles)
{
	char connects[256], establish[256];
	struct child child;
	double begun, took;

	snprintf(connects, sizeof(connects),
		 "{\"op\":\"connect\",\"address\":\"%s\",\"port\":%s,"
		 "\"timeout_ms\":5000}\n",
		 address, port);
	snprintf(establish, sizeof(establish),
		 "{\"op\":\"establish\",\"address\":\"%s\",\"port\":%s,"
		 "\"timeout_ms\":5000}\n",
		 address, port);
	start(&child, probe, "net-agent");
	pump(&child, "{\"op\":\"hello\"}\n", 1, "hello");
	if (handles)
		pump(&child, establish, handles, "\"connected\"");
	begun = now_us();
	pump(&child, connects, count, "\"connected\"");
	took = now_us() - begun;
	finish(&child);
	return count / took * 1e6;
}

/* The connections wait in the listener's queue, so nobody who accepts them competes
 * for the processors; each turn has a listener of its own. */
static int listen_at(struct sockaddr_in *address, char *ret_port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*address);

	address->sin_port = 0;
	require(bind(fd, (struct sockaddr *)address, size) == 0, "bind");
	require(listen(fd, 65535) == 0, "listen");
	require(getsockname(fd, (struct sockaddr *)address, &size) == 0, "getsockname");
	snprintf(ret_port, 8, "%u", ntohs(address->sin_port));
	return fd;
}

static void measure_connect(const char *probe, const char *text, int count)
{
	double rates[3][CONNECT_TURNS];
	struct sockaddr_in address = {.sin_family = AF_INET};
	char port[8];

	require(inet_pton(AF_INET, text, &address.sin_addr) == 1, text);
	for (int i = 0; i < CONNECT_TURNS; i++) {
		for (int kind = 0; kind < 3; kind++) {
			int fd = listen_at(&address, port);

			if (kind == 0)
				rates[0][i] = rate_bare(&address, count);
			else
				rates[kind][i] = rate_agent(probe, text, port, count,
							    kind == 2 ? HANDLES : 0);
			close(fd);
		}
	}
	for (int kind = 0; kind < 3; kind++)
		printf("%.0f ", median(rates[kind], CONNECT_TURNS));
	printf("\n");
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "start") == 0)
		measure_start(argv[2], argv[3]);
	else if (argc == 5 && strcmp(argv[1], "connect") == 0)
		measure_connect(argv[2], argv[3], atoi(argv[4]));
	else
		return 2;
	return 0;
}
