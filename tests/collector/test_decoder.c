// SPDX-License-Identifier: GPL-2.0-or-later
// collector/decoder and what it reads: the engine's answers, lists, a unit's properties.
// In the real process: what it may not do, it dies of.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/engine.h"
#include "collector/formats.h"
#include "collector/once.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IMAGE "sha256:" HEX

/* More than any format's struct. */
enum { OBJECT_SIZE = 1 << 18 };

static struct decoder decoder;

static int set_up(void **state)
{
	struct diag diag = {0};

	(void)state;
	return decoder_start(collector_formats, FORMAT_COUNT, &decoder, &diag);
}

static int tear_down(void **state)
{
	(void)state;
	decoder_stop(&decoder);
	return 0;
}

static int parse(enum format format, const char *text, void *ret_object,
		 struct diag *diag)
{
	return decoder_parse(&decoder, format, text, strlen(text), "answer", ret_object,
			     diag);
}

static void assert_refuses(enum format format, const char *text, const char *part)
{
	OWN(own_pointer) void *object = calloc(1, OBJECT_SIZE);
	OWN(own_pointer) void *zeros = calloc(1, OBJECT_SIZE);
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	struct diag diag = {0};

	assert_int_equal(parse(format, text, object, &diag), -EINVAL);
	diag_render(&diag, line, sizeof(line));
	if (!strstr(line, part))
		fail_msg("'%s' is not in '%s'", part, line);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_memory_equal(object, zeros, OBJECT_SIZE);
}

/* --- the engine ------------------------------------------------------------------- */

#define IDENTITY                                                                         \
	"{\"id\":\"I\",\"version\":\"20.10.24\",\"root_dir\":\"/var/lib/x/docker\","     \
	"\"storage_driver\":\"overlay2\",\"cgroup_driver\":\"systemd\","                 \
	"\"cgroup_version\":\"2\",\"default_runtime\":\"runc\","                         \
	"\"security_options\":[\"name=seccomp\",\"name=rootless\"],"                     \
	"\"socket\":\"/run/x/docker.sock\"}"
#define INFO(more)                                                                       \
	"{\"identity\":" IDENTITY ",\"containers\":3,\"has_memory_limit\":true,"         \
	"\"has_pids_limit\":false" more "}"

static void test_info(void **state)
{
	struct engine_info info;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(parse(FORMAT_INFO, INFO(""), &info, &diag), 0);
	assert_int_equal(info.containers, 3);
	assert_true(info.has_memory_limit);
	assert_false(info.has_pids_limit);
	assert_string_equal(info.identity.cgroup_driver, "systemd");
	assert_int_equal(info.identity.security_option_count, 2);
	assert_string_equal(info.identity.security_options[1], "name=rootless");
	assert_refuses(FORMAT_INFO, INFO(",\"more\":1"), "more: unknown key");
	assert_refuses(FORMAT_INFO, INFO(",\"containers\":0"), "duplicate");
	assert_refuses(FORMAT_INFO, INFO("") "x", "not strict JSON");
	assert_refuses(FORMAT_INFO, "{}", "missing");
	assert_refuses(FORMAT_INFO, "", "empty");
	/* What an engine without an answer prints. */
	assert_refuses(FORMAT_INFO,
		       "{\"identity\":null,\"containers\":0,\"has_memory_limit\":true,"
		       "\"has_pids_limit\":true}",
		       "identity");
}

#define CONTAINER(pid, mounts, networks, more)                                           \
	"{\"id\":\"" HEX "\",\"image\":\"" IMAGE "\",\"user\":\"65532:65532\","          \
	"\"network_mode\":\"n\",\"ipc_mode\":\"none\",\"pid_mode\":\"\","                \
	"\"userns_mode\":\"\",\"runtime\":\"runc\",\"pid\":" pid                         \
	",\"restart_count\":0,\"pids_limit\":16,\"memory\":67108864,\"cap_add\":0,"      \
	"\"cap_drop\":1,\"tmpfs\":1,\"binds\":1,\"is_running\":true,"                    \
	"\"is_read_only\":true,\"is_privileged\":false,\"has_init\":true,"               \
	"\"has_devices\":false,\"has_ports\":false,"                                     \
	"\"security\":[\"no-new-privileges\"],\"mounts\":[" mounts                       \
	"],\"networks\":[" networks "]" more "}"
#define MOUNT                                                                            \
	"{\"type\":\"bind\",\"source\":\"/usr/lib/netproof/net-probe\","                 \
	"\"destination\":\"/net-probe\",\"is_writable\":false}"
#define NETWORK "{\"network\":\"n\",\"address\":\"172.18.0.2\",\"gateway\":\"\"}"
#define FIVE_NETWORKS NETWORK "," NETWORK "," NETWORK "," NETWORK "," NETWORK

static void test_a_container(void **state)
{
	struct engine_container container;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(parse(FORMAT_CONTAINER, CONTAINER("77", MOUNT, NETWORK, ""),
			       &container, &diag),
			 0);
	assert_int_equal(container.pid, 77);
	assert_int_equal(container.mount_count, 1);
	assert_string_equal(container.mounts[0].destination, "/net-probe");
	assert_false(container.mounts[0].is_writable);
	assert_int_equal(container.network_count, 1);
	assert_string_equal(container.networks[0].address, "172.18.0.2");
	assert_string_equal(container.security[0], "no-new-privileges");
	assert_int_equal(
		parse(FORMAT_CONTAINER, CONTAINER("0", "", "", ""), &container, &diag),
		0);
	assert_int_equal(container.mount_count, 0);
	assert_refuses(FORMAT_CONTAINER, CONTAINER("-1", MOUNT, NETWORK, ""), "pid");
	assert_refuses(FORMAT_CONTAINER, CONTAINER("1.0", MOUNT, NETWORK, ""),
		       "not written as an integer");
	assert_refuses(FORMAT_CONTAINER, CONTAINER("\"1\"", MOUNT, NETWORK, ""), "pid");
	assert_refuses(FORMAT_CONTAINER, CONTAINER("1", MOUNT, FIVE_NETWORKS, ""),
		       "networks");
	assert_refuses(FORMAT_CONTAINER, CONTAINER("1", "null", "", ""), "mounts");
	assert_refuses(FORMAT_CONTAINER, CONTAINER("1", "", "", ",\"Id\":1"),
		       "Id: unknown key");
}

/* --- lines ------------------------------------------------------------------------ */

static void test_names(void **state)
{
	struct lines_names names;
	struct diag diag = {0};
	char text[LINES_NAMES_MAX * 2 + 8] = "";

	(void)state;
	assert_int_equal(parse(FORMAT_NAMES, "", &names, &diag), 0);
	assert_int_equal(names.count, 0);
	assert_int_equal(parse(FORMAT_NAMES, "bridge\nhost\n\nnone", &names, &diag), 0);
	assert_int_equal(names.count, 3);
	assert_string_equal(names.names[0], "bridge");
	assert_string_equal(names.names[2], "none");
	for (size_t i = 0; i < LINES_NAMES_MAX; i++)
		strcat(text, "n\n");
	assert_int_equal(parse(FORMAT_NAMES, text, &names, &diag), 0);
	assert_int_equal(names.count, LINES_NAMES_MAX);
	strcat(text, "n\n");
	assert_refuses(FORMAT_NAMES, text, "lists more than 64 names");
	assert_refuses(FORMAT_NAMES, "a\nb\x1b[2Jc\n", "cannot be read; remove");
	assert_refuses(FORMAT_NAMES, "\xc3\xa9\n", "cannot be read; remove");
}

static void test_names_that_do_not_fit(void **state)
{
	char text[LINES_NAME_SIZE + 2];
	struct lines_names names;
	struct diag diag = {0};

	(void)state;
	memset(text, 'n', sizeof(text));
	text[LINES_NAME_SIZE - 1] = '\0';
	assert_int_equal(parse(FORMAT_NAMES, text, &names, &diag), 0);
	assert_string_equal(names.names[0], text);
	strcat(text, "n");
	assert_refuses(FORMAT_NAMES, text, "cannot be read");
	/* A name that ends early for C ends for nobody. */
	assert_int_equal(decoder_parse(&decoder, FORMAT_NAMES, "a\0b\n", 4, "answer",
				       &names, &diag),
			 -EINVAL);
	assert_int_equal(diag.kind, DIAG_REFUSED);
}

static void test_properties(void **state)
{
	OWN(own_pointer) struct lines_properties *shown = calloc(1, sizeof(*shown));
	char text[LINES_VALUE_SIZE + 16], many[LINES_PROPERTIES_MAX * 8 + 16] = "";
	struct diag diag = {0};

	(void)state;
	assert_int_equal(
		parse(FORMAT_PROPERTIES,
		      "ActiveState=active\nDropInPaths=\nX=a=b\n\nActiveState=dead",
		      shown, &diag),
		0);
	assert_int_equal(shown->count, 4);
	assert_string_equal(lines_find(shown, 0, "ActiveState"), "active");
	assert_string_equal(lines_find(shown, 0, "DropInPaths"), "");
	assert_string_equal(lines_find(shown, 0, "X"), "a=b");
	assert_string_equal(lines_find(shown, 1, "ActiveState"), "dead");
	assert_null(lines_find(shown, 1, "X"));
	assert_null(lines_find(shown, 2, "ActiveState"));
	assert_null(lines_find(shown, 0, "Active"));
	assert_int_equal(parse(FORMAT_PROPERTIES, "", shown, &diag), 0);
	assert_int_equal(shown->count, 0);
	/* Which of two would count? */
	assert_int_equal(parse(FORMAT_PROPERTIES, "A=1\nB=2\nA=3\n", shown, &diag), 0);
	assert_int_equal(shown->count, 3);
	assert_null(lines_find(shown, 0, "A"));
	assert_string_equal(lines_find(shown, 0, "B"), "2");
	assert_refuses(FORMAT_PROPERTIES, "A\n", "cannot be read (line 1)");
	assert_refuses(FORMAT_PROPERTIES, "=x\n", "cannot be read");
	assert_refuses(FORMAT_PROPERTIES, "A=\xff\n", "cannot be read");
	memset(text, 'n', sizeof(text));
	memcpy(text, "A=", 2);
	text[LINES_VALUE_SIZE + 1] = '\0';
	assert_int_equal(parse(FORMAT_PROPERTIES, text, shown, &diag), 0);
	assert_string_equal(lines_find(shown, 0, "A"), text + 2);
	strcat(text, "n");
	assert_refuses(FORMAT_PROPERTIES, text, "cannot be read");
	for (int i = 0; i <= LINES_PROPERTIES_MAX; i++)
		sprintf(many + strlen(many), "k%d=\n", i);
	assert_refuses(FORMAT_PROPERTIES, many, "(line 65)");
}

/* --- the process ------------------------------------------------------------------ */

static void read_status(char *ret_text, size_t size)
{
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/status", decoder.child.pid);
	{
		OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

		got = read(fd, ret_text, size - 1);
	}
	assert_true(got > 0);
	ret_text[got] = '\0';
}

static void test_it_owns_nothing(void **state)
{
	static const char *const lines[] = {
		"\nUid:\t65534\t65534\t65534\t65534\n",
		"\nGid:\t65534\t65534\t65534\t65534\n",
		"\nGroups:\t \n",
		"\nCapInh:\t0000000000000000\n",
		"\nCapPrm:\t0000000000000000\n",
		"\nCapEff:\t0000000000000000\n",
		"\nCapBnd:\t0000000000000000\n",
		"\nCapAmb:\t0000000000000000\n",
		"\nNoNewPrivs:\t1\n",
#ifndef __SANITIZE_ADDRESS__
		"\nSeccomp:\t2\n",
#endif
	};
	struct lines_names names;
	struct diag diag = {0};
	char text[8192];

	(void)state;
	/* Once it has answered, it has confined itself. */
	assert_int_equal(parse(FORMAT_NAMES, "a", &names, &diag), 0);
	read_status(text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("'%s' is not in %s", lines[i] + 1, text);
}

/* What a parser that was taken over would try, one letter each. */
static int attempt(const char *data, size_t size, const char *place, void *ret_object,
		   struct diag *diag)
{
	struct lines_names *names = ret_object;

	(void)place;
	(void)diag;
	switch (size ? data[0] : '\0') {
	case 'o':
		return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	case 's':
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case 'f':
		return (int)syscall(SYS_fork);
	case 'e':
		return execl("/bin/true", "true", (char *)NULL);
	case 'k':
		return kill(getppid(), 0);
	case 'u':
		return setuid(0);
	case 'x': /* an answer that no parser gives */
		names->count = LINES_NAMES_MAX + 1;
		return 0;
	case 'y':
		names->count = 1;
		memset(names->names[0], 'a', LINES_NAME_SIZE);
		return 0;
	default:
		names->count = 1;
		strcpy(names->names[0], "fine");
		return 0;
	}
}

static const struct decoder_format hostile[] = {
	{&lines_names_table, 1024, attempt},
};

static int try(char letter, struct diag *diag)
{
	struct lines_names names = {.count = 7};
	int error;

	assert_int_equal(decoder_start(hostile, ARRAY_SIZE(hostile), &decoder, diag), 0);
	error = decoder_parse(&decoder, 0, &letter, 1, "answer", &names, diag);
	assert_int_equal(names.count, error ? 7 : 1);
	return error;
}

static void test_what_it_may_not_do_it_dies_of(void **state)
{
#ifndef __SANITIZE_ADDRESS__
	static const char letters[] = "osfeku";
	siginfo_t ended;

	for (size_t i = 0; i < sizeof(letters) - 1; i++) {
		struct diag diag = {0};
		struct lines_names names;

		assert_true(try(letters[i], &diag) < 0);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		assert_int_equal(
			waitid(P_PID, (id_t)decoder.child.pid, &ended, WEXITED | WNOWAIT),
			0);
		assert_int_equal(ended.si_code, CLD_KILLED);
		assert_int_equal(ended.si_status, SIGSYS);
		/* And nothing is read any more. */
		diag = (struct diag){0};
		assert_true(decoder_parse(&decoder, 0, "n", 1, "answer", &names, &diag) <
			    0);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		decoder_stop(&decoder);
	}
#endif
	(void)state;
}

static void test_its_answers_are_not_believed(void **state)
{
	struct diag diag = {0};

	(void)state;
	assert_int_equal(try('n', &diag), 0);
	decoder_stop(&decoder);
	for (const char *letter = "xy"; *letter; letter++) {
		diag = (struct diag){0};
		assert_true(try(*letter, &diag) < 0);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		assert_non_null(strstr(diag.text, "is not one"));
		decoder_stop(&decoder);
	}
}

static void test_too_much_is_not_sent_to_it(void **state)
{
	char text[1025];
	struct lines_names names;
	struct diag diag = {0};

	(void)state;
	memset(text, 'n', sizeof(text));
	assert_int_equal(decoder_start(hostile, ARRAY_SIZE(hostile), &decoder, &diag), 0);
	assert_int_equal(decoder_parse(&decoder, 0, text, sizeof(text) - 1, "answer",
				       &names, &diag),
			 0);
	assert_int_equal(
		decoder_parse(&decoder, 0, text, sizeof(text), "answer", &names, &diag),
		-EINVAL);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	decoder_stop(&decoder);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_info),
		CASE(test_a_container),
		CASE(test_names),
		CASE(test_names_that_do_not_fit),
		CASE(test_properties),
		CASE(test_it_owns_nothing),
		cmocka_unit_test(test_what_it_may_not_do_it_dies_of),
		cmocka_unit_test(test_its_answers_are_not_believed),
		cmocka_unit_test(test_too_much_is_not_sent_to_it),
	};

	signal(SIGPIPE, SIG_IGN); /* as wait_open() does */
	return cmocka_run_group_tests_name("decoder", tests, NULL, NULL);
}
