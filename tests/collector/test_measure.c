// SPDX-License-Identifier: GPL-2.0-or-later
// collector/measure and collector/netview: real processes, real namespaces.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "collector/measure.h"
#include "collector/netview.h"
#include "collector/spawn.h"
#include "common/own.h"

static int sleep_for_ever(void *context)
{
	(void)context;
	for (;;)
		pause();
	return 0;
}

static int enter_namespaces(void *context)
{
	(void)context;
	return unshare(CLONE_NEWNET) == 0 ? 0 : -errno;
}

struct bench {
	struct spawned child;
	struct process process;
	int net_fd;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct diag diag = {0};
	const struct spawn_spec spec = {.program_fd = -1,
					.function = sleep_for_ever,
					.prepare = enter_namespaces};

	*state = bench;
	if (spawn_start(&spec, "sleeper", &bench->child, &diag) != 0 ||
	    process_open(bench->child.pid, &bench->process, &diag) != 0)
		return -1;
	return process_open_namespace(&bench->process, "net", &bench->net_fd, &diag);
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	close(bench->net_fd);
	process_close(&bench->process);
	spawn_stop(&bench->child);
	free(bench);
	return 0;
}

static void a_process_is_what_it_is(void **state)
{
	struct bench *bench = *state;
	struct measurement measured, self;
	struct process own = PROCESS_INIT;
	struct diag diag = {0};

	assert_int_equal(process_open(getpid(), &own, &diag), 0);
	assert_int_equal(process_measure(&own, &self, &diag), 0);
	assert_int_equal(process_measure(&bench->process, &measured, &diag), 0);
	assert_string_equal(measured.exe_sha256, self.exe_sha256);
	assert_int_equal(measured.parent, getpid());
	assert_int_equal(measured.uid, 0);
	assert_true(measured.net_namespace != self.net_namespace);
	assert_int_equal(measured.user_namespace, self.user_namespace);
	assert_true(measured.capabilities > 0);
	assert_int_equal(measure_check_same(&measured, &measured, &diag), 0);
	assert_true(measure_check_same(&self, &measured, &diag) < 0);
	assert_non_null(strstr(diag.text, "namespaces"));
	process_close(&own);
}

static void what_is_no_agent_is_refused(void **state)
{
	struct bench *bench = *state;
	struct measurement measured;
	struct diag diag = {0}, other = {0};
	char wrong[DIGEST_TEXT_SIZE];

	memset(wrong, '0', sizeof(wrong) - 1);
	wrong[sizeof(wrong) - 1] = '\0';
	assert_int_equal(process_measure(&bench->process, &measured, &diag), 0);
	assert_true(process_check_agent(&bench->process, &measured, wrong, &diag) < 0);
	assert_non_null(strstr(diag.text, "not the probe runner"));
	assert_true(process_check_agent(&bench->process, &measured, measured.exe_sha256,
					&other) < 0);
	assert_non_null(strstr(other.text, "no-new-privileges"));
}

static void the_dead_are_told(void **state)
{
	struct bench *bench = *state;
	struct measurement measured;
	struct diag diag = {0};

	kill(bench->child.pid, SIGKILL);
	assert_int_equal(waitpid(bench->child.pid, NULL, 0), bench->child.pid);
	bench->child.pid = 0;
	assert_false(process_is_alive(&bench->process));
	assert_true(process_measure(&bench->process, &measured, &diag) < 0);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_non_null(strstr(diag.text, "has ended"));
}

static void ids_are_mapped(void **state)
{
	const struct id_range ranges[] = {{0, 1000, 1}, {1, 100000, 65536}};
	uint32_t outer;

	(void)state;
	assert_true(measure_map_id(ranges, 2, 0, &outer));
	assert_int_equal(outer, 1000);
	assert_true(measure_map_id(ranges, 2, 65532, &outer));
	assert_int_equal(outer, 165531);
	assert_false(measure_map_id(ranges, 2, 65537, &outer));
}

static void a_fresh_namespace_is_empty(void **state)
{
	struct bench *bench = *state;
	char names[4][NETVIEW_NAME_SIZE];
	struct diag diag = {0};
	size_t count;
	enum netview_route route;

	assert_int_equal(netview_interfaces(bench->net_fd, names, 4, &count, &diag), 0);
	assert_true(count >= 1); /* some kernels make tunnel devices in each */
	assert_string_equal(names[0], "lo");
	assert_int_equal(netview_route(bench->net_fd, "192.0.2.1", &route, &diag), 0);
	assert_int_equal(route, NETVIEW_ROUTE_NONE);
	assert_int_equal(netview_route(bench->net_fd, "2001:db8::1", &route, &diag), 0);
	assert_int_equal(route, NETVIEW_ROUTE_NONE);
}

static void listeners_are_seen_from_outside(void **state)
{
	struct bench *bench = *state;
	const struct endpoint any = {"0.0.0.0", 4711}, local = {"127.0.0.1", 4711};
	struct netview_sockets sockets;
	struct diag diag = {0};
	uint64_t inode;
	int fd, second;

	assert_int_equal(netview_count_sockets(bench->net_fd, &local, &sockets, &diag),
			 0);
	assert_int_equal(sockets.listening, 0);
	assert_int_equal(netview_listen(bench->net_fd, 1, &any, &fd, &diag), 0);
	assert_int_equal(netview_count_sockets(bench->net_fd, &local, &sockets, &diag),
			 0);
	assert_int_equal(sockets.listening, 1);
	assert_int_equal(netview_listener_inode(bench->net_fd, &local, &inode, &diag), 0);
	assert_true(inode != 0);
	assert_int_equal(netview_listen(bench->net_fd, 1, &any, &second, &diag),
			 -EADDRINUSE);
	assert_int_equal(diag.kind, DIAG_NONE);
	close(fd);
	assert_int_equal(netview_count_sockets(bench->net_fd, &local, &sockets, &diag),
			 0);
	assert_int_equal(sockets.listening, 0);
	/* Our own namespace never saw any of it. */
	assert_int_equal(netview_count_sockets(-1, &local, &sockets, &diag), 0);
	assert_int_equal(sockets.listening, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_is_what_it_is, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_agent_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_dead_are_told, set_up, tear_down),
		cmocka_unit_test(ids_are_mapped),
		cmocka_unit_test_setup_teardown(a_fresh_namespace_is_empty, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(listeners_are_seen_from_outside, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
