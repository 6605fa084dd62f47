// SPDX-License-Identifier: GPL-2.0-or-later
// common/notify: whom it tells, and that nobody is waited for. The manager is a socket of
// ours: what systemd makes of it is tests/site/test_in_lab.py's.
#include "tests/unit/unit.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/notify.h"

static int listen_at(const char *name, bool is_abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(address.sun_path, name, length);
	if (is_abstract)
		address.sun_path[0] = '\0';
	assert_int_equal(
		bind(fd, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
		0);
	return fd;
}

static void assert_told(int fd, const char *wanted)
{
	char text[256] = "";

	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, wanted);
}

static void tells_the_manager(void **state)
{
	char name[64];

	(void)state;
	for (int is_abstract = 0; is_abstract < 2; is_abstract++) {
		OWN(own_fd) int manager = -1;
		OWN(own_fd) int fd = -1;

		snprintf(name, sizeof(name),
			 is_abstract ? "@notify-%d" : "/tmp/notify-%d", getpid());
		manager = listen_at(name, is_abstract);
		assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
		fd = notify_open();
		assert_true(fd >= 0);
		notify_send(fd, "READY=1\nSTATUS=well");
		assert_told(manager, "READY=1\nSTATUS=well");
		if (!is_abstract)
			unlink(name);
	}
}

static void nobody_is_waited_for(void **state)
{
	OWN(own_fd) int manager = -1;
	OWN(own_fd) int fd = -1;
	char name[64];

	(void)state;
	snprintf(name, sizeof(name), "@stuck-%d", getpid());
	manager = listen_at(name, true);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	fd = notify_open();
	alarm(60);
	for (int i = 0; i < 10000; i++)
		notify_send(fd, "WATCHDOG=1");
	alarm(0);
	assert_told(manager, "WATCHDOG=1");
}

static void nobody_there(void **state)
{
	static const char *const names[] = {"", "/", "relative", "/nowhere/at/all",
					    "@nobody"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(setenv("NOTIFY_SOCKET", names[i], 1), 0);
		assert_int_equal(notify_open(), -1);
	}
	assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
	assert_int_equal(notify_open(), -1);
	notify_send(-1, "READY=1");
}

static void half_of_what_is_waited(void **state)
{
	char pid[16];

	(void)state;
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	assert_int_equal(notify_watchdog_ms(), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
	assert_int_equal(notify_watchdog_ms(), 15000);
	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
	assert_int_equal(notify_watchdog_ms(), 15000);
	assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
	assert_int_equal(notify_watchdog_ms(), 0);
	unsetenv("WATCHDOG_PID");
	assert_int_equal(setenv("WATCHDOG_USEC", "soon", 1), 0);
	assert_int_equal(notify_watchdog_ms(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_the_manager),
		cmocka_unit_test(nobody_is_waited_for),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(half_of_what_is_waited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
