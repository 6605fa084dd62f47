// SPDX-License-Identifier: GPL-2.0-or-later
// common/protected: every deviation is refused by name, and no swap gets through.
//
// Wants root: it works on a tmpfs of its own, in its own mount namespace, which is
// gone with the process.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/protected.h"

#define TOP "/mnt"
#define OTHER 65534 /* an account that is neither root nor a test's owner */
#define OWNER 1000

static void must(int result)
{
	if (result < 0)
		fail_msg("%s", strerror(errno));
}

static void make_file(const char *path, const char *text, mode_t mode)
{
	OWN(own_fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	must(fd);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	must(fchmod(fd, mode));
}

/* An empty tmpfs with a/b/file for each case. */
static int set_up(void **state)
{
	(void)state;
	if (mount("test", TOP, "tmpfs", 0, "mode=0755") != 0)
		return -1;
	umask(0);
	must(mkdir(TOP "/a", 0755));
	must(mkdir(TOP "/a/b", 0700));
	make_file(TOP "/a/b/file", "content", 0600);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return umount2(TOP, MNT_DETACH);
}

static void assert_file_refused(const char *path, unsigned int flags, const char *line)
{
	struct bytes bytes = {NULL, 7};
	struct diag diag = {0}, read = {0};
	int fd = 77;

	assert_int_equal(protected_open(path, 0, flags, 100, &fd, &diag), -EINVAL);
	assert_refused(diag, line);
	assert_int_equal(fd, 77);
	assert_int_equal(protected_read(path, 0, flags, 100, &bytes, &read), -EINVAL);
	assert_refused(read, line);
	assert_null(bytes.data);
	assert_int_equal(bytes.size, 7);
}

static void assert_directory_refused(const char *path, unsigned int flags,
				     const char *line)
{
	struct diag diag = {0};
	int fd = 77;

	assert_int_equal(protected_open_directory(path, 0, flags, &fd, &diag), -EINVAL);
	assert_refused(diag, line);
	assert_int_equal(fd, 77);
}

static void a_protected_file_is_read(void **state)
{
	OWN(own_bytes) struct bytes bytes = {0};
	OWN(own_fd) int fd = -1, directory = -1;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(
		protected_read(TOP "/a/b/file", 0, PROTECTED_PRIVATE, 7, &bytes, &diag),
		0);
	assert_int_equal(bytes.size, 7);
	assert_string_equal(bytes.data, "content");
	assert_int_equal(protected_open(TOP "/a/b/file", 0, 0, 7, &fd, &diag), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(protected_open_directory(TOP "/a/b", 0, PROTECTED_PRIVATE,
						  &directory, &diag),
			 0);
	assert_int_equal(faccessat(directory, "file", F_OK, 0), 0);
	assert_int_equal(fsync(directory), 0);
	assert_int_equal(fcntl(directory, F_GETFD), FD_CLOEXEC);
}

static void an_empty_file_is_a_text(void **state)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	must(truncate(TOP "/a/b/file", 0));
	assert_int_equal(protected_read(TOP "/a/b/file", 0, 0, 0, &bytes, &diag), 0);
	assert_int_equal(bytes.size, 0);
	assert_string_equal(bytes.data, "");
}

static void the_root_is_a_directory(void **state)
{
	OWN(own_fd) int fd = -1;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(protected_open_directory("/", 0, 0, &fd, &diag), 0);
	assert_file_refused("/", 0, "/: not a regular file");
}

static void a_path_is_clean_and_absolute(void **state)
{
	static const char *const paths[] = {
		"",        "a",        "./a",         TOP "/a/b/file/",
		TOP "//a", TOP "/./a", TOP "/a/../a", TOP "/a/b/.",
		"//",      "..",       TOP "/a\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct diag diag = {0};
		int fd = -1;

		assert_int_equal(protected_open(paths[i], 0, 0, 100, &fd, &diag),
				 -EINVAL);
		assert_int_equal(diag.kind, DIAG_REFUSED);
		assert_string_equal(diag.text, "not a clean absolute path");
	}
}

static void what_is_missing_is_named(void **state)
{
	(void)state;
	assert_file_refused(TOP "/a/b/none", 0, TOP "/a/b/none: does not exist");
	assert_file_refused(TOP "/a/none/file", 0, TOP "/a/none: does not exist");
	assert_directory_refused(TOP "/none/b", 0, TOP "/none: does not exist");
	assert_file_refused(TOP "/a/b/file/x", 0, TOP "/a/b/file: not a directory");
	assert_directory_refused(TOP "/a/b/file", 0, TOP "/a/b/file: not a directory");
	assert_file_refused(TOP "/a/b", 0, TOP "/a/b: not a regular file");
}

static void a_component_too_long_is_refused(void **state)
{
	char path[300] = TOP "/";
	struct diag diag = {0};
	int fd = -1;

	(void)state;
	memset(path + strlen(path), 'x', 256);
	assert_int_equal(protected_open(path, 0, 0, 100, &fd, &diag), -EINVAL);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_string_equal(diag.text, "a component of more than 255 bytes");
}

static void no_component_is_a_link(void **state)
{
	(void)state;
	must(symlink("file", TOP "/a/b/link"));
	must(symlink("b", TOP "/a/c"));
	must(symlink(TOP "/a", TOP "/d"));
	must(symlink("nowhere", TOP "/a/dangling"));
	assert_file_refused(TOP "/a/b/link", 0, TOP "/a/b/link: a symbolic link");
	assert_file_refused(TOP "/a/c/file", 0, TOP "/a/c: a symbolic link");
	assert_file_refused(TOP "/d/b/file", 0, TOP "/d: a symbolic link");
	assert_file_refused(TOP "/a/dangling", 0, TOP "/a/dangling: a symbolic link");
	assert_directory_refused(TOP "/a/c", 0, TOP "/a/c: a symbolic link");
	assert_directory_refused(TOP "/d/b", 0, TOP "/d: a symbolic link");
}

static void magic_links_are_links(void **state)
{
	char path[64], line[128];

	(void)state;
	assert_file_refused("/proc/self/exe", 0, "/proc/self: a symbolic link");
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", getpid(),
			 (const char *const[]){"exe", "root", "cwd"}[i]);
		snprintf(line, sizeof(line), "%s: a symbolic link", path);
		assert_file_refused(path, 0, line);
	}
	snprintf(path, sizeof(path), "/proc/%d/root/mnt/a/b/file", getpid());
	snprintf(line, sizeof(line), "/proc/%d/root: a symbolic link", getpid());
	assert_file_refused(path, 0, line);
	snprintf(path, sizeof(path), "/proc/%d/fd/0", getpid());
	snprintf(line, sizeof(line), "%s: a symbolic link", path);
	assert_file_refused(path, 0, line);
}

static void every_owner_counts(void **state)
{
	OWN(own_fd) int fd = -1;
	struct diag diag = {0}, other = {0};

	(void)state;
	must(chown(TOP "/a/b/file", OWNER, 0));
	assert_file_refused(TOP "/a/b/file", 0,
			    TOP "/a/b/file: owned by uid 1000, not by root");
	must(chown(TOP "/a/b", OWNER, 0));
	assert_directory_refused(TOP "/a/b", 0,
				 TOP "/a/b: owned by uid 1000, not by root");
	must(chown(TOP "/a", OTHER, 0));
	assert_file_refused(TOP "/a/b/file", 0,
			    TOP "/a: owned by uid 65534, not by root");
	must(chown(TOP "/a", 0, 0));
	assert_int_equal(protected_open(TOP "/a/b/file", OWNER, 0, 100, &fd, &diag), 0);
	must(chown(TOP "/a/b/file", OTHER, 0));
	assert_int_equal(protected_open(TOP "/a/b/file", OWNER, 0, 100, &fd, &other),
			 -EINVAL);
	assert_refused(other, TOP "/a/b/file: owned by uid 65534, not by root or the "
				  "running user");
}

static void nobody_else_may_write(void **state)
{
	static const char *const paths[] = {TOP, TOP "/a", TOP "/a/b", TOP "/a/b/file"};
	/* With the sticky bit, others can still add what was not there. */
	static const mode_t modes[] = {0020, 0002, 0022, 01002, 01777, 02020};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct stat status;

		must(stat(paths[i], &status));
		for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
			mode_t mode = (status.st_mode & 0777) | modes[m];
			char line[128];

			must(chmod(paths[i], mode));
			snprintf(line, sizeof(line),
				 "%s: writable by group or others (mode %04o)", paths[i],
				 mode);
			assert_file_refused(TOP "/a/b/file", 0, line);
			if (i < 3)
				assert_directory_refused(TOP "/a/b", 0, line);
		}
		must(chmod(paths[i], status.st_mode & 0777));
	}
}

static void private_is_closed_to_others(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0610, 0601, 0644};
	OWN(own_fd) int fd = -1;
	struct diag diag = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		char line[128];

		must(chmod(TOP "/a/b/file", modes[i]));
		snprintf(line, sizeof(line),
			 TOP "/a/b/file: open to group or others (mode %04o)", modes[i]);
		assert_file_refused(TOP "/a/b/file", PROTECTED_PRIVATE, line);
	}
	assert_int_equal(protected_open(TOP "/a/b/file", 0, 0, 100, &fd, &diag), 0);
	must(chmod(TOP "/a/b", 0710));
	assert_directory_refused(TOP "/a/b", PROTECTED_PRIVATE,
				 TOP "/a/b: open to group or others (mode 0710)");
}

static void an_executable_is_one(void **state)
{
	OWN(own_fd) int fd = -1;
	struct diag diag = {0};

	(void)state;
	assert_file_refused(TOP "/a/b/file", PROTECTED_EXECUTABLE,
			    TOP "/a/b/file: not executable by its owner");
	must(chmod(TOP "/a/b/file", 0755));
	assert_int_equal(
		protected_open(TOP "/a/b/file", 0, PROTECTED_EXECUTABLE, 9, &fd, &diag),
		0);
}

static void a_second_link_is_refused(void **state)
{
	(void)state;
	must(link(TOP "/a/b/file", TOP "/a/second"));
	assert_file_refused(TOP "/a/b/file", 0, TOP "/a/b/file: has 2 links, not one");
}

static void only_regular_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = TOP "/a/socket"};
	OWN(own_fd) int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	must(mkfifo(TOP "/a/fifo", 0600));
	must(bind(socket_fd, (const struct sockaddr *)&address, sizeof(address)));
	must(chmod(TOP "/a/socket", 0600));
	assert_file_refused(TOP "/a/fifo", 0, TOP "/a/fifo: not a regular file");
	assert_file_refused(TOP "/a/socket", 0, TOP "/a/socket: not a regular file");
	assert_directory_refused(TOP "/a/fifo", 0, TOP "/a/fifo: not a directory");
	/* /dev/null, from where a tmpfs may hold it. */
	must(mknod(TOP "/a/device", S_IFCHR | 0600, makedev(1, 3)));
	assert_file_refused(TOP "/a/device", 0, TOP "/a/device: not a regular file");
	/* No driver has this number. */
	must(mknod(TOP "/a/nothing", S_IFBLK | 0600, makedev(0xeff, 1)));
	assert_file_refused(TOP "/a/nothing", 0, TOP "/a/nothing: not a regular file");
}

static void size_is_limited(void **state)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0}, small = {0};

	(void)state;
	must(truncate(TOP "/a/b/file", 101));
	assert_file_refused(TOP "/a/b/file", 0, TOP "/a/b/file: larger than 100 bytes");
	/* A file whose size the kernel does not know is stopped while it is read. */
	assert_int_equal(protected_read("/proc/version", 0, 0, 4000, &bytes, &diag), 0);
	assert_int_equal(bytes.size, strlen(bytes.data));
	assert_int_equal(protected_read("/proc/version", 0, 0, 5, &bytes, &small),
			 -EINVAL);
	assert_refused(small, "/proc/version: larger than 5 bytes");
}

static void a_long_file_is_read_whole(void **state)
{
	static const size_t sizes[] = {4095, 4096, 4097, 8192, 100000};
	OWN(own_pointer) char *expected = malloc(100001);

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		expected[i] = (char)('a' + i % 23);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		OWN(own_bytes) struct bytes bytes = {0};
		struct diag diag = {0};
		char after = expected[sizes[i]];

		expected[sizes[i]] = '\0';
		must(unlink(TOP "/a/b/file"));
		make_file(TOP "/a/b/file", expected, 0600);
		assert_int_equal(
			protected_read(TOP "/a/b/file", 0, 0, sizes[i], &bytes, &diag),
			0);
		assert_int_equal(bytes.size, sizes[i]);
		assert_string_equal(bytes.data, expected);
		expected[sizes[i]] = after;
	}
}

static void no_permission_is_a_refusal(void **state)
{
	struct diag diag = {0}, deep = {0};
	int fd = -1, error, deep_error;

	(void)state;
	must(chmod(TOP "/a/b", 0755));
	must(seteuid(OTHER));
	error = protected_open(TOP "/a/b/file", OTHER, 0, 100, &fd, &diag);
	must(seteuid(0));
	assert_int_equal(error, -EINVAL);
	assert_refused(diag, TOP "/a/b/file: no permission to open it");
	must(chmod(TOP "/a/b", 0700));
	must(seteuid(OTHER));
	deep_error = protected_open(TOP "/a/b/file", OTHER, 0, 100, &fd, &deep);
	must(seteuid(0));
	assert_int_equal(deep_error, -EINVAL);
	/* A folder above is only walked through: it is what lies in it that cannot be
	 * opened. */
	assert_refused(deep, TOP "/a/b/file: no permission to open it");
}

static void no_descriptor_is_no_verdict(void **state)
{
	struct rlimit before, low;
	int first = dup(0);

	(void)state;
	must(first);
	close(first);
	must(getrlimit(RLIMIT_NOFILE, &before));
	low = before;
	/* Two are open at a time: the parent and what is below it. */
	for (unsigned int room = 0; room < 2; room++) {
		struct diag diag = {0};
		int fd = 77, error;

		low.rlim_cur = (rlim_t)first + room;
		must(setrlimit(RLIMIT_NOFILE, &low));
		error = protected_open(TOP "/a/b/file", 0, 0, 100, &fd, &diag);
		must(setrlimit(RLIMIT_NOFILE, &before));
		assert_int_equal(error, -EMFILE);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		assert_int_equal(fd, 77);
	}
	assert_int_equal(dup(0), first); /* and none was lost */
	close(first);
}

/* Until it is killed: exchanges `one` and `two` as fast as it can. */
static pid_t start_swapping(const char *one, const char *two)
{
	pid_t parent = getpid(), pid = fork();

	must(pid);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		if (renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE) != 0)
			_exit(1);
	_exit(0);
}

/* Reads while a component is swapped, until reading went well and was refused both
 * often enough; what was read is always the good file. */
static void read_while_swapping(const char *one, const char *two)
{
	pid_t swapper = start_swapping(one, two);
	unsigned int good = 0, refused = 0;
	int status;

	while (good < 300 || refused < 300) {
		OWN(own_bytes) struct bytes bytes = {0};
		struct diag diag = {0};
		int error = protected_read(TOP "/a/b/file", 0, 0, 100, &bytes, &diag);

		if (error)
			assert_int_equal(diag.kind, DIAG_REFUSED);
		else
			assert_string_equal(bytes.data, "content");
		good += !error;
		refused += !!error;
	}
	must(kill(swapper, SIGKILL));
	assert_int_equal(waitpid(swapper, &status, 0), swapper);
	assert_true(WIFSIGNALED(status));
}

static void a_swapped_directory_gets_nothing_through(void **state)
{
	(void)state;
	must(mkdir(TOP "/evil", 0755));
	make_file(TOP "/evil/file", "evil", 0600);
	must(chown(TOP "/evil", OTHER, 0));
	must(mkdir(TOP "/x", 0755));
	must(symlink("../evil", TOP "/a/link"));
	read_while_swapping(TOP "/a/b", TOP "/a/link");
}

static void a_swapped_owner_gets_nothing_through(void **state)
{
	(void)state;
	must(mkdir(TOP "/a/evil", 0755));
	make_file(TOP "/a/evil/file", "evil", 0600);
	must(chown(TOP "/a/evil", OTHER, 0));
	read_while_swapping(TOP "/a/b", TOP "/a/evil");
}

static void a_swapped_file_gets_nothing_through(void **state)
{
	(void)state;
	make_file(TOP "/evil", "evil", 0644);
	must(symlink("/mnt/evil", TOP "/a/b/link"));
	read_while_swapping(TOP "/a/b/file", TOP "/a/b/link");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_protected_file_is_read),
		CASE(an_empty_file_is_a_text),
		CASE(the_root_is_a_directory),
		CASE(a_path_is_clean_and_absolute),
		CASE(what_is_missing_is_named),
		CASE(a_component_too_long_is_refused),
		CASE(no_component_is_a_link),
		CASE(magic_links_are_links),
		CASE(every_owner_counts),
		CASE(nobody_else_may_write),
		CASE(private_is_closed_to_others),
		CASE(an_executable_is_one),
		CASE(a_second_link_is_refused),
		CASE(only_regular_files),
		CASE(size_is_limited),
		CASE(a_long_file_is_read_whole),
		CASE(no_permission_is_a_refusal),
		CASE(no_descriptor_is_no_verdict),
		CASE(a_swapped_directory_gets_nothing_through),
		CASE(a_swapped_owner_gets_nothing_through),
		CASE(a_swapped_file_gets_nothing_through),
	};

	if (geteuid() != 0) {
		puts("wants root: it makes files of other owners");
		return 77;
	}
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
		perror("no mount namespace of its own");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
