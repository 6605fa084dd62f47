// SPDX-License-Identifier: GPL-2.0-or-later
// common under want: for every call of ours that can fail, it fails once, and the
// answer is "could not tell", with outputs as before and nothing left behind.
//
// A mock, and the only one here: memory that ends at the tenth allocation cannot be
// had from the kernel. The linker puts the functions below in the place of libc's
// (--wrap, see common/sources.mk), for common and, through it, for jansson.
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/buffer.h"
#include "common/canonical.h"
#include "common/child.h"
#include "common/digest.h"
#include "common/json_table.h"
#include "common/protected.h"

/* Counts the calls of what can fail; the one numbered `fail_at` does. */
static bool is_counting;
static unsigned long calls, fail_at;
static long blocks; /* allocated and not freed while counting */

static bool fails(int error)
{
	if (!is_counting || ++calls != fail_at)
		return false;
	errno = error;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
pid_t __real_fork(void);
int __real_pipe2(int ends[2], int flags);
int __real_poll(struct pollfd *polled, nfds_t count, int timeout);
pid_t __real_waitpid(pid_t pid, int *status, int options);
ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __real_pread(int fd, void *data, size_t size, off_t offset);
ssize_t __real_write(int fd, const void *data, size_t size);
int __real_fstat(int fd, struct stat *status);
int __real_fcntl(int fd, int command, long argument);
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
pid_t __wrap_fork(void);
int __wrap_pipe2(int ends[2], int flags);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset);
ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_fcntl(int fd, int command, long argument);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

static void *counted(void *memory)
{
	blocks += is_counting && memory;
	return memory;
}

void *__wrap_malloc(size_t size)
{
	return fails(ENOMEM) ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails(ENOMEM) ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	void *grown = fails(ENOMEM) ? NULL : __real_realloc(memory, size);

	return memory ? grown : counted(grown);
}

void __wrap_free(void *memory)
{
	blocks -= is_counting && memory;
	__real_free(memory);
}

pid_t __wrap_fork(void)
{
	return fails(EAGAIN) ? -1 : __real_fork();
}

int __wrap_pipe2(int ends[2], int flags)
{
	return fails(ENFILE) ? -1 : __real_pipe2(ends, flags);
}

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout)
{
	return fails(ENOMEM) ? -1 : __real_poll(polled, count, timeout);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	return fails(EIO) ? -1 : __real_waitpid(pid, status, options);
}

ssize_t __wrap_read(int fd, void *data, size_t size)
{
	return fails(EIO) ? -1 : __real_read(fd, data, size);
}

ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset)
{
	return fails(EIO) ? -1 : __real_pread(fd, data, size, offset);
}

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	return fails(EIO) ? -1 : __real_write(fd, data, size);
}

int __wrap_fstat(int fd, struct stat *status)
{
	return fails(EIO) ? -1 : __real_fstat(fd, status);
}

int __wrap_fcntl(int fd, int command, long argument)
{
	return fails(EMFILE) ? -1 : __real_fcntl(fd, command, argument);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return fails(EMFILE) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}

/* One thing to do. It gives what its function gave, and checks by itself that an
 * output is as before after a failure and right after a success. */
typedef int scenario(struct diag *diag);

static unsigned int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Lets every call fail in turn, until there is none left to fail. */
static void fail_everywhere(scenario *run, unsigned long least)
{
	for (fail_at = 1;; fail_at++) {
		unsigned int descriptors = count_descriptors();
		struct diag diag = {0};
		int error;

		blocks = 0;
		calls = 0;
		is_counting = true;
		error = run(&diag);
		is_counting = false;
		assert_int_equal(blocks, 0);
		assert_int_equal(count_descriptors(), descriptors);
		assert_true(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
		if (calls < fail_at) {
			assert_int_equal(error, 0);
			break;
		}
		/* Where the failure can be made good, all is well; else nothing is. */
		if (error)
			assert_int_equal(diag.kind, DIAG_UNDECIDED);
		else
			assert_int_equal(diag.kind, DIAG_NONE);
	}
	assert_true(fail_at > least);
}

#define TEXT                                                                             \
	"{\"a\":[1,2,{\"long_key_that_grows_a_buffer\":\"\\u00e9 and much more than "    \
	"sixteen bytes\"}],\"b\":123456789,\"c\":{\"d\":true}}"
#define CANONICAL                                                                        \
	"{\"a\":[1,2,{\"long_key_that_grows_a_buffer\":\"\xc3\xa9 and much more than "   \
	"sixteen bytes\"}],\"b\":123456789,\"c\":{\"d\":true}}"

static json_t untouched;

/* A token that lost a byte for want of memory would be another value. */
static int parse_and_write(struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	json_t *root = &untouched;
	int error = json_parse(TEXT, strlen(TEXT), 4096, "doc", &root, diag);

	if (error) {
		assert_ptr_equal(root, &untouched);
		assert_int_equal(error, -ENOMEM);
		return error;
	}
	error = canonical_write(root, &bytes, diag);
	json_decref(root);
	if (error)
		assert_null(bytes.data);
	else
		assert_string_equal(bytes.data, CANONICAL);
	return error;
}

static void json_without_memory(void **state)
{
	(void)state;
	fail_everywhere(parse_and_write, 30);
}

struct item {
	char name[40];
	int64_t number;
};

struct list {
	struct item items[4];
	size_t count;
};

static const struct json_field item_fields[] = {
	{JSON_TEXT(struct item, name, 1, NULL)},
	{JSON_INTEGER(struct item, number, 0, 99)},
};
static const struct json_table item_table = JSON_TABLE(struct item, item_fields);
static const struct json_field list_item = {JSON_ITEM_OBJECT(struct item, &item_table)};
static const struct json_field list_fields[] = {
	{JSON_LITERAL("schema", "netproof.list.v1")},
	{JSON_ARRAY(struct list, items, count, &list_item, 1)},
};
static const struct json_table list_table = JSON_TABLE(struct list, list_fields);

#define LIST                                                                             \
	"{\"items\":[{\"name\":\"a name longer than sixteen bytes\",\"number\":7},"      \
	"{\"name\":\"b\",\"number\":8}],\"schema\":\"netproof.list.v1\"}"

static int check_list(struct list list, int error)
{
	assert_int_equal(list.count, error ? 77 : 2);
	if (!error)
		assert_string_equal(list.items[0].name,
				    "a name longer than sixteen bytes");
	return error;
}

static int parse_list(struct diag *diag)
{
	struct list list = {.count = 77};
	int error = json_table_parse(LIST, strlen(LIST), 4096, "doc", &list_table, &list,
				     diag);

	return check_list(list, error);
}

/* Read without a tree: the struct itself is all that it allocates. */
static int parse_kept(struct diag *diag)
{
	struct list list = {.count = 77};
	int error = json_table_parse_kept(LIST, strlen(LIST), 4096, "doc", &list_table,
					  &list, diag);

	return check_list(list, error);
}

static int write_list(struct diag *diag)
{
	static const struct list list = {
		{{"a name longer than sixteen bytes", 7}, {"b", 8}}, 2};
	OWN(own_bytes) struct bytes bytes = {NULL, 77};
	int error = json_table_write(&list_table, &list, &bytes, diag);

	if (!error)
		assert_string_equal(bytes.data, LIST);
	else
		assert_true(!bytes.data && bytes.size == 77);
	return error;
}

static void tables_without_memory(void **state)
{
	(void)state;
	fail_everywhere(parse_list, 20);
	fail_everywhere(parse_kept, 1);
	fail_everywhere(write_list, 20);
}

static int fill_buffer(struct diag *diag)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes bytes = {0};
	int error;

	for (int i = 0; i < 1000; i++) {
		buffer_add_byte(&buffer, 'a');
		buffer_print(&buffer, "%d", i % 10);
	}
	error = buffer_take(&buffer, &bytes, diag);
	if (error)
		assert_null(bytes.data);
	else
		assert_int_equal(bytes.size, 2000);
	return error;
}

static void buffers_without_memory(void **state)
{
	(void)state;
	fail_everywhere(fill_buffer, 3);
}

static int read_version(struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {NULL, 77};
	int error = protected_read("/proc/version", 0, 0, 4096, &bytes, diag);

	if (error)
		assert_true(!bytes.data && bytes.size == 77);
	else
		assert_int_equal(strncmp(bytes.data, "Linux", 5), 0);
	return error;
}

static int open_folder(struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error = protected_open_directory("/proc/sys/kernel", 0, 0, &fd, diag);

	assert_int_equal(fd >= 0, !error);
	return error;
}

static void files_without_the_kernel(void **state)
{
	(void)state;
	fail_everywhere(read_version, 8);
	fail_everywhere(open_folder, 6);
}

static int digest_file(struct diag *diag)
{
	OWN(own_fd) int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	char digest[DIGEST_TEXT_SIZE] = "as before";
	int error = digest_fd(fd, 1 << 20, "file", digest, diag);

	if (error)
		assert_string_equal(digest, "as before");
	else
		assert_true(digest_is_text(digest));
	return error;
}

static void digests_without_the_kernel(void **state)
{
	(void)state;
	fail_everywhere(digest_file, 3);
}

/* The child goes on with the same count, so what fails may fail there. */
static int run_child(struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {.exit_status = 42};
	struct child_spec spec = {
		.path = "/bin/sh",
		.arguments = (const char *const[]){"sh", "-c",
						   "cat; echo err >&2; exit 5", NULL},
		.input = "through",
		.input_size = 7,
		.timeout_ms = 10 * 60 * 1000,
		.output_limit = 100,
		.error_limit = 100,
	};
	int error = child_run(&spec, &result, diag);

	if (error) {
		assert_int_equal(result.exit_status, 42);
		assert_null(result.output.data);
		return error;
	}
	assert_int_equal(result.exit_status, 5);
	assert_string_equal(result.output.data, "through");
	assert_string_equal(result.error.data, "err\n");
	return 0;
}

static int answer(void *context)
{
	is_counting = false; /* what it does itself is not under test */
	return write(1, context, 3) == 3 ? 6 : 7;
}

static int run_function(struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {.exit_status = 42};
	struct child_spec spec = {.function = answer,
				  .context = (void *)"yes",
				  .timeout_ms = 10 * 60 * 1000,
				  .output_limit = 3,
				  .error_limit = 100};
	int error = child_run(&spec, &result, diag);

	if (error)
		return error;
	assert_int_equal(result.exit_status, 6);
	assert_string_equal(result.output.data, "yes");
	return 0;
}

static void children_without_the_kernel(void **state)
{
	(void)state;
	fail_everywhere(run_child, 20);
	fail_everywhere(run_function, 20);
}

/* Whatever fails at the deadline, the child is not left behind. */
static int run_too_long(struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {0};
	struct child_spec spec = {
		.path = "/bin/sleep",
		.arguments = (const char *const[]){"sleep", "1000", NULL},
		.timeout_ms = 20,
		.output_limit = 100,
		.error_limit = 100,
	};
	int error = child_run(&spec, &result, diag);

	assert_true(error || result.is_timeout);
	return error;
}

static void deadlines_without_the_kernel(void **state)
{
	(void)state;
	fail_everywhere(run_too_long, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_without_memory),
		cmocka_unit_test(tables_without_memory),
		cmocka_unit_test(buffers_without_memory),
		cmocka_unit_test(files_without_the_kernel),
		cmocka_unit_test(digests_without_the_kernel),
		cmocka_unit_test(children_without_the_kernel),
		cmocka_unit_test(deadlines_without_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
