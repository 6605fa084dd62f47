// SPDX-License-Identifier: GPL-2.0-or-later
// collector/workload and hostview: whose sockets processes hold, and what cannot be told
// of it.
//
// Real processes where the kernel can be had; a /proc made of files in a mount
// namespace of its own where it cannot: a process whose status is not to be read
// does not happen by itself. A listing that fails is the linker's (--wrap).
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <linux/if.h>
#include <linux/if_tun.h>

#include "collector/hostview.h"
#include "collector/spawn.h"
#include "collector/workload.h"

/* Uids that nobody has. */
enum { USER = 61234, OTHER = 61235, START_MS = 60000 };

static const struct subjects subjects = {.ranges = {{USER, USER}}, .count = 1};

/* This process's namespaces: the host's, as far as the test goes. */
static struct measurement self;

/* The second one only if asked for. */
static const gid_t groups[] = {USER, OTHER};
static size_t group_count = 1;

static int check(int64_t *ret_count, struct diag *diag)
{
	const struct workload workload = {.subjects = &subjects,
					  .groups = groups,
					  .group_count = group_count,
					  .self = &self};

	return workload_check(&workload, ret_count, diag);
}

static void assert_told(const struct diag *diag, enum diag_kind kind, const char *part)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];

	diag_render(diag, line, sizeof(line));
	if (!strstr(line, part))
		fail_msg("'%s' is not in '%s'", part, line);
	assert_int_equal(diag->kind, kind);
}

/* What getxattr() fails with, or 0. */
static int xattr_error;

ssize_t __real_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t size);

ssize_t __wrap_getxattr(const char *path, const char *name, void *value, size_t size)
{
	errno = xattr_error;
	return xattr_error ? -1 : __real_getxattr(path, name, value, size);
}

/* --- real processes --------------------------------------------------------------- */

struct holder {
	int family, type;
	uid_t maker;
	bool is_in_thread; /* whose descriptors are its own */
	bool is_file;
};

static void make_socket(const struct holder *holder)
{
	if (holder->is_file) {
		(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
		return;
	}
	(void)!seteuid(holder->maker);
	(void)!socket(holder->family, holder->type | SOCK_CLOEXEC, 0);
	(void)!seteuid(0);
}

static pthread_barrier_t is_made;

static void *hold_in_thread(void *context)
{
	if (unshare(CLONE_FILES) == 0)
		make_socket(context);
	pthread_barrier_wait(&is_made);
	for (;;)
		pause();
	return NULL;
}

static int hold(void *context)
{
	const struct holder *holder = context;
	static const char byte = '1';
	pthread_t thread;

	if (holder->is_in_thread) {
		if (pthread_barrier_init(&is_made, NULL, 2) != 0 ||
		    pthread_create(&thread, NULL, hold_in_thread, context) != 0)
			return 1;
		pthread_barrier_wait(&is_made);
	} else {
		make_socket(holder);
	}
	if (setresuid(USER, USER, USER) != 0 || write(1, &byte, 1) != 1)
		return 1;
	for (;;)
		pause();
	return 0;
}

static int check_holder(struct holder holder, struct diag *diag)
{
	const struct spawn_spec spec = {
		.program_fd = -1, .function = hold, .context = &holder};
	struct spawned child = SPAWNED_INIT;
	struct pollfd polled;
	int64_t count = 7;
	int error;
	char byte;

	assert_int_equal(spawn_start(&spec, "holder", &child, diag), 0);
	polled = (struct pollfd){.fd = child.output, .events = POLLIN};
	assert_int_equal(poll(&polled, 1, START_MS), 1);
	assert_int_equal(read(child.output, &byte, 1), 1);
	error = check(&count, diag);
	assert_int_equal(count, error ? 7 : 0);
	spawn_stop(&child);
	return error;
}

static void test_own_sockets_are_fine(void **state)
{
	static const struct holder holders[] = {
		{AF_INET, SOCK_STREAM, USER, false, false},
		{AF_INET6, SOCK_DGRAM, USER, true, false},
		{AF_UNIX, SOCK_STREAM, 0, false, false},
		{AF_NETLINK, SOCK_RAW, 0, false, false},
		{0, 0, 0, false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++) {
		struct diag diag = {0};

		assert_int_equal(check_holder(holders[i], &diag), 0);
	}
}

static void test_somebody_elses_are_refused(void **state)
{
	static const struct holder holders[] = {
		{AF_INET, SOCK_STREAM, 0, false, false},
		{AF_INET6, SOCK_DGRAM, 0, false, false},
		{AF_INET, SOCK_DGRAM, OTHER, false, false},
		{AF_INET, SOCK_STREAM, 0, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++) {
		struct diag diag = {0};
		char text[64];

		snprintf(text, sizeof(text), "holds a socket of uid %u",
			 holders[i].maker);
		assert_int_equal(check_holder(holders[i], &diag), -EINVAL);
		assert_told(&diag, DIAG_REFUSED, text);
		assert_told(&diag, DIAG_REFUSED, "; end it");
	}
}

static void test_a_protocol_that_cannot_be_told(void **state)
{
	static const struct holder holder = {AF_INET, SOCK_STREAM, 0, false, false};
	struct diag diag = {0};

	(void)state;
	xattr_error = EOPNOTSUPP;
	assert_true(check_holder(holder, &diag) < 0);
	assert_told(&diag, DIAG_UNDECIDED, "the socket's protocol cannot be told");
	xattr_error = ENOENT; /* closed meanwhile */
	assert_int_equal(check_holder(holder, &(struct diag){0}), 0);
	xattr_error = 0;
}

static void test_a_process_holds_a_socket(void **state)
{
	OWN(own_fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	OWN(process_close) struct process process = PROCESS_INIT;
	struct diag diag = {0};
	struct stat status;
	bool holds;

	(void)state;
	assert_int_equal(process_open(getpid(), &process, &diag), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(hostview_holds_socket(&process, status.st_ino, &holds, &diag),
			 0);
	assert_true(holds);
	own_fd(&fd);
	assert_int_equal(hostview_holds_socket(&process, status.st_ino, &holds, &diag),
			 0);
	assert_false(holds);
}

/* --- what cannot be told ---------------------------------------------------------- */

/* Listing this folder fails with this errno. */
static const char *fail_folder;
static int fail_error;

struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory);

struct dirent *__wrap_readdir(DIR *directory)
{
	struct stat wanted, here;

	if (!fail_folder || stat(fail_folder, &wanted) != 0 ||
	    fstat(dirfd(directory), &here) != 0 || wanted.st_ino != here.st_ino ||
	    wanted.st_dev != here.st_dev)
		return __real_readdir(directory);
	errno = fail_error;
	return NULL;
}

#define THREAD "/proc/77/task/78"

static void write_status(const char *text)
{
	FILE *file = fopen(THREAD "/status", "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* One process with one thread of the user's, and nothing open. */
static int set_up(void **state)
{
	(void)state;
	fail_folder = NULL;
	if (mount("proc-of-files", "/proc", "tmpfs", 0, "mode=755") != 0 ||
	    mkdir("/proc/self", 0755) != 0 || mkdir("/proc/77", 0755) != 0 ||
	    mkdir("/proc/77/task", 0755) != 0 || mkdir(THREAD, 0755) != 0 ||
	    mkdir(THREAD "/fd", 0755) != 0)
		return -1;
	write_status("Name:\tx\nUid:\t61234\t61234\t61234\t61234\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fail_folder = NULL;
	return umount2("/proc", MNT_DETACH);
}

static void assert_undecided(const char *part)
{
	struct diag diag = {0};
	int64_t count = 7;

	assert_true(check(&count, &diag) < 0);
	assert_told(&diag, DIAG_UNDECIDED, part);
	assert_int_equal(count, 7);
}

static void assert_none(void)
{
	struct diag diag = {0};
	int64_t count = 7;

	assert_int_equal(check(&count, &diag), 0);
	assert_int_equal(count, 0);
}

static void test_a_status_that_cannot_be_read(void **state)
{
	(void)state;
	assert_none();
	assert_int_equal(unlink(THREAD "/status"), 0);
	assert_int_equal(mkdir(THREAD "/status", 0755), 0);
	assert_undecided(THREAD "/status: tells no uid: Is a directory");
}

static void test_a_status_that_cannot_be_opened(void **state)
{
	(void)state;
	assert_int_equal(unlink(THREAD "/status"), 0);
	assert_int_equal(symlink("status", THREAD "/status"), 0);
	assert_undecided(THREAD "/status: cannot be opened");
}

static void test_a_status_without_uid(void **state)
{
	(void)state;
	write_status("Name:\tUid:\nState:\tR\n");
	assert_undecided(THREAD "/status: tells no uid");
}

static void test_descriptors_that_cannot_be_listed(void **state)
{
	(void)state;
	assert_int_equal(rmdir(THREAD "/fd"), 0);
	assert_int_equal(mknod(THREAD "/fd", S_IFREG | 0644, 0), 0);
	assert_undecided(THREAD "/fd: cannot be listed: Not a directory");
}

static void test_listings_that_end_early(void **state)
{
	static const char *const folders[] = {"/proc", "/proc/77/task", THREAD "/fd"};

	(void)state;
	fail_error = EIO;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		fail_folder = folders[i];
		assert_undecided("be listed: Input/output error");
	}
	/* As the kernel says of a process that has ended; /proc itself does not. */
	fail_error = ESRCH;
	assert_none();
	fail_folder = folders[1];
	assert_none();
	fail_folder = folders[0];
	assert_undecided("/proc: cannot be listed");
}

static void test_a_descriptor_that_cannot_be_seen(void **state)
{
	(void)state;
	assert_int_equal(mknod(THREAD "/fd/3", S_IFREG | 0644, 0), 0);
	assert_undecided(THREAD "/fd/3: cannot be seen");
}

static void test_what_has_ended_is_none(void **state)
{
	(void)state;
	assert_int_equal(rmdir(THREAD "/fd"), 0);
	assert_none();
	assert_int_equal(unlink(THREAD "/status"), 0);
	assert_none();
	assert_int_equal(rmdir(THREAD), 0);
	assert_none();
	assert_int_equal(rmdir("/proc/77/task"), 0);
	assert_none();
}

/* --- devices, in a network namespace of this process's own ------------------------ */

static void test_a_device_of_a_group(void **state)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	char node[] = "/tmp/netproof-tun-XXXXXX";
	struct diag diag = {0};
	int64_t count;
	int fd;

	(void)state;
	strcpy(request.ifr_name, "grouped");
	fd = mkstemp(node);
	assert_true(fd >= 0);
	close(fd);
	unlink(node);
	assert_int_equal(mknod(node, S_IFCHR | 0600, makedev(10, 200)), 0);
	fd = open(node, O_RDWR | O_CLOEXEC);
	unlink(node);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, TUNSETIFF, &request), 0);
	assert_int_equal(ioctl(fd, TUNSETGROUP, OTHER), 0);
	assert_int_equal(check(&count, &diag), 0);
	group_count = 2;
	assert_int_not_equal(check(&count, &diag), 0);
	group_count = 1;
	assert_told(&diag, DIAG_REFUSED,
		    "grouped: a TUN device that the workload may attach to");
	close(fd);
}

static void test_groups_of_an_account(void **state)
{
	static const char text[] = "root:x:0:\nfirst:x:7:others,agent\n"
				   "second:x:8:agents\nthird:x:9:agent\n";
	char path[] = "/tmp/netproof-group-XXXXXX";
	struct diag diag = {0};
	gid_t found[2] = {0};
	size_t count = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(hostview_find_groups(path, "agent", found, 2, &count, &diag), 0);
	assert_int_equal(count, 2);
	assert_int_equal(found[0], 7);
	assert_int_equal(found[1], 9);
	assert_int_not_equal(hostview_find_groups(path, "agent", found, 1, &count, &diag),
			     0);
	assert_told(&diag, DIAG_REFUSED, "has agent in more than 1 groups");
	unlink(path);
	diag = (struct diag){0};
	assert_int_not_equal(hostview_find_groups(path, "agent", found, 2, &count, &diag),
			     0);
	assert_told(&diag, DIAG_UNDECIDED, "cannot be opened");
}

#define FAKED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest real[] = {
		cmocka_unit_test(test_own_sockets_are_fine),
		cmocka_unit_test(test_somebody_elses_are_refused),
		cmocka_unit_test(test_a_protocol_that_cannot_be_told),
		cmocka_unit_test(test_a_process_holds_a_socket),
	};
	const struct CMUnitTest faked[] = {
		FAKED(test_a_status_that_cannot_be_read),
		FAKED(test_a_status_that_cannot_be_opened),
		FAKED(test_a_status_without_uid),
		FAKED(test_descriptors_that_cannot_be_listed),
		FAKED(test_listings_that_end_early),
		FAKED(test_a_descriptor_that_cannot_be_seen),
		FAKED(test_what_has_ended_is_none),
	};
	const struct CMUnitTest devices[] = {
		cmocka_unit_test(test_a_device_of_a_group),
		cmocka_unit_test(test_groups_of_an_account),
	};
	struct stat user, net;
	int failed;

	if (stat("/proc/self/ns/user", &user) != 0 ||
	    stat("/proc/self/ns/net", &net) != 0)
		return 1;
	self.user_namespace = user.st_ino;
	self.net_namespace = net.st_ino;
	failed = cmocka_run_group_tests_name("workload", real, NULL, NULL);

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		perror("a mount namespace");
		return 1;
	}
	failed += cmocka_run_group_tests_name("workload, faked", faked, NULL, NULL);
	if (unshare(CLONE_NEWNET) != 0) {
		perror("a network namespace");
		return 1;
	}
	return failed +
	       cmocka_run_group_tests_name("workload, devices", devices, NULL, NULL);
}
