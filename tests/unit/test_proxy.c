// SPDX-License-Identifier: GPL-2.0-or-later
// proxy: where a head ends, whose listener is taken, what the filter kills.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/inet.h"
#include "common/own.h"
#include "proxy/confine.h"
#include "proxy/head.h"
#include "proxy/listener.h"

/* How many bytes of `text` it takes until the head is over; 0: it never is. */
static size_t over_at(const char *text)
{
	struct head head = {0};

	for (size_t i = 0; text[i]; i++)
		if (head_is_over(&head, text + i, 1))
			return i + 1;
	return 0;
}

static void head_ends_at_an_empty_line(void **state)
{
	(void)state;
	assert_int_equal(over_at("GET / HTTP/1.1\r\n\r\nx"), 18);
	assert_int_equal(over_at("GET / HTTP/1.1\n\nx"), 16);
	assert_int_equal(over_at("CONNECT a.b:1 HTTP/1.1\r\nHost: a.b\r\n\r\n"), 37);
	assert_int_equal(over_at("a\r\n\n"), 4);
	assert_int_equal(over_at("\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 22);
}

static void other_text_goes_on(void **state)
{
	(void)state;
	assert_int_equal(over_at(""), 0);
	assert_int_equal(over_at("\r\n\r\n\r\n\r\n"), 0);
	assert_int_equal(over_at("GET / HTTP/1.1\r\n"), 0);
	assert_int_equal(over_at("GET / HTTP/1.1\r\n \r\n"), 0);
	assert_int_equal(over_at("GET / HTTP/1.1\r\r\r"), 0);
}

static void head_has_a_limit(void **state)
{
	static const char zeros[HEAD_LIMIT];
	struct head head = {0};

	(void)state;
	assert_false(head_is_over(&head, zeros, HEAD_LIMIT - 1));
	assert_true(head_is_over(&head, zeros, 1));
	head = (struct head){0};
	assert_true(head_is_over(&head, zeros, HEAD_LIMIT));
}

static void address_is_refused(const char *address, enum diag_kind kind, const char *text)
{
	struct diag diag = {0};
	int fd = -1;

	assert_int_not_equal(listener_open(address, 39001, &fd, &diag), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(diag.kind, kind);
	assert_memory_equal(diag.text, text, strlen(text));
}

static void listener_wants_an_address_of_the_host(void **state)
{
	(void)state;
	address_is_refused("192.0.2.1", DIAG_REFUSED, "not an address of this host");
	address_is_refused("localhost", DIAG_USAGE,
			   "not a canonical IPv4 or IPv6 address");
	address_is_refused("127.1", DIAG_USAGE, "not a canonical IPv4 or IPv6 address");
	address_is_refused("", DIAG_USAGE, "not a canonical IPv4 or IPv6 address");
}

/* Port 0 lets the kernel choose one. */
static uint16_t open_any(int *ret_fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	struct diag diag = {0};

	assert_int_equal(listener_open("127.0.0.1", 0, ret_fd, &diag), 0);
	assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static void a_taken_port_is_refused(void **state)
{
	OWN(own_fd) int first = -1;
	OWN(own_fd) int second = -1;
	struct diag diag = {0};
	uint16_t port = open_any(&first);

	(void)state;
	assert_int_not_equal(listener_open("127.0.0.1", port, &second, &diag), 0);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_non_null(strstr(diag.text, "somebody else listens there"));
}

/* What a confined process is asked to do. */
struct attempt {
	const char *name;
	void (*act)(int listener, int epoll, int peer);
	int signal; /* what must end it; 0: it ends by itself */
};

static void allowed_calls(int listener, int epoll, int peer)
{
	struct epoll_event event;
	char byte;

	(void)accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	(void)epoll_ctl(epoll, EPOLL_CTL_DEL, listener, NULL);
	(void)epoll_wait(epoll, &event, 1, 0);
	(void)recv(peer, &byte, 1, MSG_DONTWAIT);
	(void)send(peer, "x", 1, MSG_NOSIGNAL);
	(void)shutdown(peer, SHUT_WR);
	(void)close(peer);
	if (write(STDERR_FILENO, "", 0) != 0)
		_exit(1);
}

static struct sockaddr_in anywhere = {.sin_family = AF_INET, .sin_port = 9};

static void call_connect(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll;
	connect(peer, (struct sockaddr *)&anywhere, sizeof(anywhere));
}

static void call_socket(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll, (void)peer;
	syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void call_sendto(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll;
	sendto(peer, "x", 1, 0, (struct sockaddr *)&anywhere, sizeof(anywhere));
}

static void call_sendmsg(int listener, int epoll, int peer)
{
	struct msghdr message = {.msg_name = &anywhere, .msg_namelen = sizeof(anywhere)};

	(void)listener, (void)epoll;
	syscall(SYS_sendmsg, peer, &message, 0);
}

static void call_bind(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll;
	syscall(SYS_bind, peer, &anywhere, sizeof(anywhere));
}

static void call_accept_elsewhere(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll;
	syscall(SYS_accept4, peer, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void call_open(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll, (void)peer;
	syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
}

static void call_execve(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll, (void)peer;
	syscall(SYS_execve, "/bin/true", NULL, NULL);
}

static void call_clone(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll, (void)peer;
	syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void call_io_uring(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll, (void)peer;
	syscall(SYS_io_uring_setup, 1, NULL);
}

static void call_write_elsewhere(int listener, int epoll, int peer)
{
	(void)listener, (void)epoll;
	syscall(SYS_write, peer, "x", 1);
}

static const struct attempt attempts[] = {
	{"what it does", allowed_calls, 0},
	{"connect", call_connect, SIGSYS},
	{"socket", call_socket, SIGSYS},
	{"sendto an address", call_sendto, SIGSYS},
	{"sendmsg", call_sendmsg, SIGSYS},
	{"bind", call_bind, SIGSYS},
	{"accept elsewhere", call_accept_elsewhere, SIGSYS},
	{"open", call_open, SIGSYS},
	{"execve", call_execve, SIGSYS},
	{"clone", call_clone, SIGSYS},
	{"io_uring", call_io_uring, SIGSYS},
	{"write elsewhere", call_write_elsewhere, SIGSYS},
};

static void run_confined(const struct attempt *attempt)
{
	OWN(own_fd) int listener = -1;
	struct diag diag = {0};
	int epoll, pair[2];

	(void)open_any(&listener);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
	    confine(listener, epoll, &diag) != 0)
		_exit(2);
	attempt->act(listener, epoll, pair[0]);
	/* Not _exit(): before a call that does not return, AddressSanitizer makes
	 * calls of its own. */
	syscall(SYS_exit_group, 0);
}

static void other_calls_kill(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0)
			run_confined(&attempts[i]);
		assert_int_equal(waitpid(child, &status, 0), child);
		print_message("%s: status %#x\n", attempts[i].name, (unsigned int)status);
		if (attempts[i].signal) {
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), attempts[i].signal);
		} else {
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_ends_at_an_empty_line),
		cmocka_unit_test(other_text_goes_on),
		cmocka_unit_test(head_has_a_limit),
		cmocka_unit_test(listener_wants_an_address_of_the_host),
		cmocka_unit_test(a_taken_port_is_refused),
		cmocka_unit_test(other_calls_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
