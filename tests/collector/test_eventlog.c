// SPDX-License-Identifier: GPL-2.0-or-later
// collector/eventlog: what the journal is told, and that nothing waits for it. The daemon
// is a socket of ours, in a mount namespace where /run is empty: a journal that is stuck
// cannot be had otherwise.
#include "tests/unit/unit.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "collector/eventlog.h"
#include "policy/catalog.h"

#define FOLDER "/run/systemd/journal"

static int daemon_fd = -1;

static void start_daemon(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX,
				      .sun_path = FOLDER "/socket"};

	assert_int_equal(mkdir("/run/systemd", 0755), 0);
	assert_int_equal(mkdir(FOLDER, 0755), 0);
	daemon_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(daemon_fd >= 0);
	assert_int_equal(bind(daemon_fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
}

static void stop_daemon(void)
{
	own_fd(&daemon_fd);
	unlink(FOLDER "/socket");
	rmdir(FOLDER);
	rmdir("/run/systemd");
}

/* The next entry, as lines that each begin and end with a newline. */
static char *next_entry(void)
{
	static char text[8192];
	ssize_t size;

	text[0] = '\n';
	size = recv(daemon_fd, text + 1, sizeof(text) - 2, MSG_DONTWAIT);
	assert_true(size > 0);
	text[size + 1] = '\0';
	assert_int_equal(text[size], '\n');
	return text;
}

static void assert_has(const char *entry, const char *line)
{
	if (!strstr(entry, line))
		fail_msg("no %s in %s", line, entry);
}

static void entries_are_structured(void **state)
{
	struct record_probe probe = {.matched = true, .conclusive = true};
	struct eventlog log;
	struct diag diag = {0};
	char *entry;

	(void)state;
	start_daemon();
	eventlog_open(&log);
	eventlog_begin(&log, "0123456789abcdef");
	entry = next_entry();
	assert_has(entry, "\nNETPROOF_COLLECTION_ID=0123456789abcdef\n");
	assert_has(entry, "\nSYSLOG_IDENTIFIER=net-collector\n");
	assert_has(entry, "\nMESSAGE_ID=");
	assert_null(strstr(entry, "NETPROOF_PHASE"));
	eventlog_phase(&log, "active");
	assert_has(next_entry(), "\nNETPROOF_PHASE=active\n");
	strcpy(probe.id, "candidate.public");
	eventlog_probe(&log, &probe);
	entry = next_entry();
	assert_has(entry, "\nNETPROOF_PHASE=active\n");
	assert_has(entry, "\nNETPROOF_PROBE=candidate.public\n");
	assert_has(entry, "\nNETPROOF_OUTCOME=ok\n");
	assert_has(entry, "\nPRIORITY=6\n");
	probe.conclusive = false;
	eventlog_probe(&log, &probe);
	entry = next_entry();
	assert_has(entry, "\nNETPROOF_OUTCOME=inconclusive\n");
	assert_has(entry, "\nPRIORITY=4\n");
	probe.matched = false;
	eventlog_probe(&log, &probe);
	assert_has(next_entry(), "\nNETPROOF_OUTCOME=unmatched\n");
	diag_refuse(&diag, "a place", "a reason\nPRIORITY=7");
	eventlog_refusal(&log, &diag);
	entry = next_entry();
	assert_has(entry, "\nMESSAGE=refused: a place: a reason?PRIORITY=7\n");
	assert_has(entry, "\nNETPROOF_OUTCOME=refused\n");
	assert_has(entry, "\nNETPROOF_DROPPED=0\n");
	eventlog_end(&log, "ab", 2, 3, true);
	entry = next_entry();
	assert_has(entry, "\nNETPROOF_RECORD_SHA256=ab\n");
	assert_has(entry, "\nNETPROOF_OUTCOME=different\n");
	eventlog_close(&log);
	stop_daemon();
}

/* A daemon that takes nothing: what it does not take is counted, and nobody waits. */
static void a_stuck_daemon_holds_nothing_up(void **state)
{
	struct eventlog log;

	(void)state;
	start_daemon();
	eventlog_open(&log);
	alarm(60);
	for (int i = 0; i < 100000 && !log.dropped; i++)
		eventlog_phase(&log, "active");
	alarm(0);
	assert_true(log.dropped > 0);
	eventlog_close(&log);
	stop_daemon();
}

static void without_a_daemon_nothing_happens(void **state)
{
	struct eventlog log;

	(void)state;
	eventlog_open(&log);
	assert_int_equal(log.fd, -1);
	eventlog_begin(&log, "0123456789abcdef");
	eventlog_phase(&log, "active");
	assert_int_equal(log.dropped, 0);
	eventlog_close(&log);
	/* One that goes away in the middle. */
	start_daemon();
	eventlog_open(&log);
	stop_daemon();
	eventlog_phase(&log, "active");
	assert_int_equal(log.dropped, 1);
	eventlog_close(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_structured),
		cmocka_unit_test(a_stuck_daemon_holds_nothing_up),
		cmocka_unit_test(without_a_daemon_nothing_happens),
	};

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("run", "/run", "tmpfs", 0, NULL) != 0) {
		fprintf(stderr, "not root: run it as root\n");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
