// SPDX-License-Identifier: GPL-2.0-or-later
// common/child: time, output, environment and descriptors are bounded, whatever the
// child does; and a parent that dies takes it along.
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "common/child.h"

/* Where a case wants no deadline: a hang is then the runner's to end. */
#define LONG_MS (10 * 60 * 1000)

extern char **environ;

static struct child_spec shell(const char *const arguments[4])
{
	return (struct child_spec){.path = "/bin/sh",
				   .arguments = arguments,
				   .timeout_ms = LONG_MS,
				   .output_limit = 1 << 16,
				   .error_limit = 1 << 16};
}

#define SHELL(script) shell((const char *const[]){"sh", "-c", (script), NULL})

static struct child_spec call(int (*function)(void *context), void *context)
{
	return (struct child_spec){.function = function,
				   .context = context,
				   .timeout_ms = LONG_MS,
				   .output_limit = 1 << 16,
				   .error_limit = 1 << 16};
}

static void assert_runs(const struct child_spec *spec, struct child_result *ret_result)
{
	struct diag diag = {0};

	if (child_run(spec, ret_result, &diag) != 0)
		fail_msg("%s: %s", diag.place, diag.text);
}

static void assert_prints(const struct child_spec *spec, const char *output)
{
	OWN(child_result_release) struct child_result result = {0};

	assert_runs(spec, &result);
	assert_string_equal(result.error.data, "");
	assert_string_equal(result.output.data, output);
	assert_int_equal(result.exit_status, 0);
}

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

static void status_and_both_outputs(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	struct child_spec spec = SHELL("echo out; echo err >&2; exit 3");

	(void)state;
	assert_runs(&spec, &result);
	assert_int_equal(result.exit_status, 3);
	assert_int_equal(result.signal, 0);
	assert_false(result.is_timeout || result.is_overflow);
	assert_string_equal(result.output.data, "out\n");
	assert_int_equal(result.output.size, 4);
	assert_string_equal(result.error.data, "err\n");
}

#define BASE_ENVIRONMENT                                                                 \
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"            \
	"LANG=C.UTF-8\nLC_ALL=C.UTF-8\nTZ=UTC\n"

static int print_environment(void *context)
{
	(void)context;
	for (char **variable = environ; *variable; variable++)
		if (write(1, *variable, strlen(*variable)) < 0 || write(1, "\n", 1) < 0)
			return 1;
	return 0;
}

static void the_environment_is_exact(void **state)
{
	static const char *const names[] = {
		"DOCKER_HOST",     "DOCKER_CONFIG", "DOCKER_CONTEXT", "HTTP_PROXY",
		"http_proxy",      "HTTPS_PROXY",   "https_proxy",    "ALL_PROXY",
		"NO_PROXY",        "no_proxy",      "ftp_proxy",      "LD_PRELOAD_",
		"XDG_RUNTIME_DIR", "IFS",           "BASH_ENV",       "HOME",
	};
	static const char *const extra[] = {"A=1", "XDG_RUNTIME_DIR=/run/user/5", NULL};
	struct child_spec program = {.path = "/usr/bin/env",
				     .arguments = (const char *const[]){"env", NULL},
				     .timeout_ms = LONG_MS,
				     .output_limit = 9999};
	struct child_spec function = call(print_environment, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		setenv(names[i], "the caller's", 1);
	assert_prints(&program, BASE_ENVIRONMENT);
	assert_prints(&function, BASE_ENVIRONMENT);
	program.environment = function.environment = extra;
	assert_prints(&program, BASE_ENVIRONMENT "A=1\nXDG_RUNTIME_DIR=/run/user/5\n");
	assert_prints(&function, BASE_ENVIRONMENT "A=1\nXDG_RUNTIME_DIR=/run/user/5\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static void input_arrives_whole(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	struct child_spec spec = SHELL("cat");
	size_t size = 1 << 20;
	OWN(own_pointer) char *input = malloc(size);

	(void)state;
	for (size_t i = 0; i < size; i++)
		input[i] = (char)(i * 31 + i / 4096);
	spec.input = input;
	spec.input_size = size;
	spec.output_limit = size;
	assert_runs(&spec, &result);
	assert_false(result.is_overflow);
	assert_int_equal(result.output.size, size);
	assert_memory_equal(result.output.data, input, size);
}

static void no_input_is_an_end_of_file(void **state)
{
	struct child_spec none = SHELL("cat"), empty = none;

	(void)state;
	assert_prints(&none, "");
	empty.input = "";
	assert_prints(&empty, "");
}

static void input_may_be_refused(void **state)
{
	size_t size = 1 << 20;
	OWN(own_pointer) char *input = calloc(1, size);
	struct child_spec spec = SHELL("exec <&-; echo done");
	sigset_t pending;

	(void)state;
	spec.input = input;
	spec.input_size = size;
	assert_prints(&spec, "done\n");
	spec.arguments = (const char *const[]){"sh", "-c", "head -c 5 | wc -c", NULL};
	assert_prints(&spec, "5\n");
	/* The broken pipe's signal stays with us, and is used up. */
	sigpending(&pending);
	assert_false(sigismember(&pending, SIGPIPE));
}

static void a_flood_is_stopped_at_its_limit(void **state)
{
	static const char *const scripts[] = {"exec yes", "exec yes >&2",
					      "trap '' TERM HUP; yes & yes >&2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		OWN(child_result_release) struct child_result result = {0};
		struct child_spec spec = SHELL(scripts[i]);

		spec.output_limit = spec.error_limit = 1001;
		assert_runs(&spec, &result);
		assert_true(result.is_overflow);
		assert_true(result.output.size == 1001 || result.error.size == 1001);
		assert_true(result.output.size <= 1001 && result.error.size <= 1001);
	}
}

static void the_limit_itself_is_allowed(void **state)
{
	struct child_spec exact = SHELL("printf 12345"), over = exact, none = exact;
	OWN(child_result_release) struct child_result result = {0}, nothing = {0};

	(void)state;
	exact.output_limit = 5;
	assert_prints(&exact, "12345");
	over.output_limit = 4;
	assert_runs(&over, &result);
	assert_true(result.is_overflow);
	assert_string_equal(result.output.data, "1234");
	none.output_limit = 0;
	assert_runs(&none, &nothing);
	assert_true(nothing.is_overflow);
	assert_string_equal(nothing.output.data, "");
}

static void a_deadline_ends_it(void **state)
{
	static const char *const scripts[] = {
		"echo first; exec sleep 1000",
		"trap '' TERM INT HUP; echo first; sleep 1000",
		"echo first; while :; do :; done", "echo first; kill -STOP $$"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		OWN(child_result_release) struct child_result result = {0};
		struct child_spec spec = SHELL(scripts[i]);

		spec.timeout_ms = 300;
		assert_runs(&spec, &result);
		assert_true(result.is_timeout);
		assert_int_equal(result.exit_status, -1);
		assert_int_equal(result.signal, SIGKILL);
		/* Had it no time to print on this machine, nothing is there. */
		assert_true(result.output.size == 0 || result.output.size == 6);
	}
}

static void no_time_is_a_deadline_too(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	struct child_spec spec = SHELL("exec sleep 1000");

	(void)state;
	spec.timeout_ms = 0;
	assert_runs(&spec, &result);
	assert_true(result.is_timeout);
}

/* Waits until there is no child of ours, grandchildren included: how did `pid` end? */
static int reap_all(pid_t pid)
{
	int status, found = -1;
	pid_t reaped;

	while ((reaped = wait(&status)) > 0)
		if (reaped == pid)
			found = status;
	assert_int_equal(errno, ECHILD);
	return found;
}

static void a_grandchild_with_the_pipe_holds_nothing_up(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	struct child_spec spec = SHELL("sleep 1000 & echo $!");
	int status;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	spec.timeout_ms = 500;
	assert_runs(&spec, &result);
	assert_true(result.is_timeout);
	/* It was left with the child's group, and ended with it. */
	if (result.output.size) {
		status = reap_all(atoi(result.output.data));
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
	}
	assert_int_equal(reap_all(0), -1);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void signals_are_told_apart(void **state)
{
	static const int signals[] = {SIGSEGV, SIGABRT, SIGTERM, SIGSYS, SIGPIPE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		OWN(child_result_release) struct child_result result = {0};
		char script[64], line[64];
		struct child_spec spec;
		struct diag diag = {0};

		snprintf(script, sizeof(script), "kill -%d $$", signals[i]);
		spec = SHELL(script);
		assert_runs(&spec, &result);
		assert_int_equal(result.signal, signals[i]);
		assert_int_equal(result.exit_status, -1);
		snprintf(line, sizeof(line), "ended by signal %d", signals[i]);
		assert_int_equal(child_explain(&spec, &result, &diag), -EIO);
		assert_string_equal(diag.text, line);
	}
}

static void handle(int number)
{
	(void)number;
}

#define SIGRTMIN_KERNEL 32 /* asm-generic/signal.h */

static void signals_start_at_their_defaults(void **state)
{
	struct child_spec spec = SHELL("exec sed -n '/^Sig[BIC]/p' /proc/self/status");
	sigset_t blocked, before;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR2, handle);
	/* As whoever was started by posix_spawn() has it: the C library's own first
	 * signal, which signal() does not touch, is ignored. */
	assert_int_equal(syscall(SYS_rt_sigaction, SIGRTMIN_KERNEL,
				 (uint64_t[4]){(uintptr_t)SIG_IGN}, NULL, 8),
			 0);
	assert_prints(&spec, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
			     "SigCgt:\t0000000000000000\n");
	/* And ours are as before. */
	assert_ptr_equal(signal(SIGPIPE, SIG_DFL), SIG_IGN);
	assert_ptr_equal(signal(SIGINT, SIG_DFL), SIG_IGN);
	assert_ptr_equal(signal(SIGUSR2, SIG_DFL), handle);
	sigprocmask(SIG_SETMASK, &before, &blocked);
	assert_true(sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGTERM));
	assert_false(sigismember(&blocked, SIGPIPE));
}

static void our_own_signals_do_not_disturb_it(void **state)
{
	struct itimerval timer = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
	struct child_spec spec = SHELL("for i in 1 2 3 4 5; do echo $i; done");

	(void)state;
	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 20; i++)
		assert_prints(&spec, "1\n2\n3\n4\n5\n");
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_DFL);
}

/* How often a handler of the parent's ran: in the parent, and in a child. */
static volatile unsigned int (*handled)[2];
static pid_t handler_owner;

static void count(int number)
{
	(void)number;
	(*handled)[getpid() != handler_owner]++;
}

static int return_zero(void *context)
{
	(void)context;
	return 0;
}

/* In a session of its own: every process of the group gets SIGURG (which does
 * nothing by default) all the time, so also a child on its way out of the group. */
static int run_under_fire(void *context)
{
	struct child_spec spec = call(return_zero, NULL);
	pid_t hammer;

	(void)context;
	handler_owner = getpid();
	signal(SIGURG, count);
	hammer = fork();
	if (hammer == 0) {
		signal(SIGURG, SIG_DFL);
		while (getppid() == handler_owner)
			kill(0, SIGURG);
		_exit(0);
	}
	for (int i = 0; i < 200 || (*handled)[0] < 200; i++) {
		OWN(child_result_release) struct child_result result = {0};
		struct diag diag = {0};

		if (child_run(&spec, &result, &diag) != 0 || result.exit_status != 0)
			return 1;
	}
	kill(hammer, SIGKILL);
	return waitpid(hammer, NULL, 0) != hammer;
}

static void no_handler_of_ours_runs_in_it(void **state)
{
	struct child_spec spec = call(run_under_fire, NULL);

	(void)state;
	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(handled, MAP_FAILED);
	assert_prints(&spec, "");
	assert_int_equal((*handled)[1], 0);
	munmap((void *)handled, sizeof(*handled));
}

static int list_descriptors(void *context)
{
	(void)context;
	for (int fd = 0; fd < 2000; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dprintf(1, "%d ", fd);
	return 0;
}

static void no_descriptor_is_inherited(void **state)
{
	struct child_spec spec = call(list_descriptors, NULL);
	int kept = fcntl(0, F_DUPFD, 700), other = fcntl(0, F_DUPFD, 650);
	int low = dup(0), last = fcntl(0, F_DUPFD, 1500);
	char expected[64];

	(void)state;
	assert_true(kept >= 700 && other >= 650 && low > 2 && last >= 1500);
	assert_prints(&spec, "0 1 2 ");
	spec.keep_fds = (const int[]){kept, low};
	spec.keep_count = 2;
	snprintf(expected, sizeof(expected), "0 1 2 %d %d ", low, kept);
	assert_prints(&spec, expected);
	close(kept);
	close(other);
	close(low);
	close(last);
}

static int read_kept(void *context)
{
	char text[16];
	ssize_t got = pread(*(const int *)context, text, sizeof(text), 0);

	return got < 0 || write(1, text, (size_t)got) < 0;
}

static void a_kept_descriptor_survives_exec(void **state)
{
	OWN(own_fd) int fd = memfd_create("kept", MFD_CLOEXEC);
	struct child_spec function = call(read_kept, &fd);
	char script[32];
	struct child_spec program;

	(void)state;
	assert_int_equal(write(fd, "kept\n", 5), 5);
	lseek(fd, 0, SEEK_SET);
	snprintf(script, sizeof(script), "cat <&%d", fd);
	program = SHELL(script);
	program.keep_fds = function.keep_fds = &fd;
	program.keep_count = function.keep_count = 1;
	assert_prints(&function, "kept\n");
	assert_prints(&program, "kept\n");
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

/* Whatever of 0 to 2 the caller has closed, the child has its own three. */
static int run_without_standard_descriptors(void *context)
{
	struct child_spec spec = SHELL("cat; echo out; echo err >&2");
	struct child_result result;
	struct diag diag = {0};

	(void)context;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	spec.input = "in\n";
	spec.input_size = 3;
	if (child_run(&spec, &result, &diag) != 0)
		return 1;
	return strcmp(result.output.data, "in\nout\n") != 0 ||
	       strcmp(result.error.data, "err\n") != 0;
}

static void standard_descriptors_may_be_closed(void **state)
{
	struct child_spec spec = call(run_without_standard_descriptors, NULL);

	(void)state;
	assert_prints(&spec, "");
}

static int print_standing(void *context)
{
	int death = 0;

	(void)context;
	prctl(PR_GET_PDEATHSIG, &death);
	dprintf(1, "%d %d %d", getsid(0) == getpid(), death, (int)getuid());
	return 0;
}

static int become_nobody(void *context)
{
	(void)context;
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
		return -errno;
	return 0;
}

static void folder_mask_and_session_are_fixed(void **state)
{
	struct child_spec program = SHELL("pwd; umask"),
			  function = call(print_standing, NULL);
	mode_t before = umask(0);

	(void)state;
	assert_prints(&program, "/\n0022\n");
	umask(before);
	assert_prints(&function, "1 9 0");
	function.prepare = become_nobody;
	assert_prints(&function, "1 9 65534");
	program = SHELL("id -u; id -G");
	program.prepare = become_nobody;
	assert_prints(&program, "65534\n65534\n");
}

static int refuse(void *context)
{
	return *(const int *)context;
}

static void a_failing_start_is_no_verdict(void **state)
{
	int wanted = -EPERM;
	struct child_spec prepared = SHELL("echo ran"), missing = prepared;
	struct child_spec forbidden = prepared,
			  function = call(print_environment, &wanted), named = function;
	const struct {
		const struct child_spec *spec;
		int error;
		const char *place;
	} cases[] = {
		{&prepared, -EPERM, "/bin/sh"},
		{&missing, -ENOENT, "/usr/bin/no-such-program"},
		{&forbidden, -EACCES, "/etc/passwd"},
		{&function, -EPERM, "child process"},
		{&named, -EPERM, "a library"},
	};

	(void)state;
	named.name = "a library";
	prepared.prepare = function.prepare = named.prepare = refuse;
	prepared.context = &wanted;
	missing.path = "/usr/bin/no-such-program";
	forbidden.path = "/etc/passwd";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct child_result result = {.exit_status = 42};
		struct diag diag = {0};

		assert_int_equal(child_run(cases[i].spec, &result, &diag),
				 cases[i].error);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		assert_non_null(strstr(diag.text, "cannot be started: "));
		assert_string_equal(diag.place, cases[i].place);
		assert_int_equal(result.exit_status, 42);
		assert_null(result.output.data);
	}
}

static int return_context(void *context)
{
	return *(const int *)context;
}

static void status_127_may_be_the_childs_own(void **state)
{
	OWN(child_result_release) struct child_result program = {0}, function = {0};
	int status = 127;
	struct child_spec one = SHELL("exit 127"), two = call(return_context, &status);

	(void)state;
	assert_runs(&one, &program);
	assert_int_equal(program.exit_status, 127);
	assert_runs(&two, &function);
	assert_int_equal(function.exit_status, 127);
}

static int misbehave(void *context)
{
	switch (*(const char *)context) {
	case 'a':
		signal(SIGABRT, SIG_DFL);
		abort();
	case 's':
		raise(SIGSEGV);
		break;
	case 'e':
		/* A library that gives up: what the parent had buffered is not its. */
		exit(7);
	case 'k':
		kill(getpid(), SIGKILL);
		break;
	case 'd':
		for (;;)
			pause();
	default:
		break;
	}
	return 0;
}

static void functions_may_crash(void **state)
{
	static const struct {
		char way[2];
		int status, signal;
	} cases[] = {{"a", -1, SIGABRT},
		     {"s", -1, SIGSEGV},
		     {"k", -1, SIGKILL},
		     {"n", 0, 0},
		     {"d", -1, SIGKILL}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(child_result_release) struct child_result result = {0};
		struct child_spec spec = call(misbehave, (void *)cases[i].way);

		if (cases[i].way[0] == 'd')
			spec.timeout_ms = 50;
		assert_runs(&spec, &result);
		assert_int_equal(result.exit_status, cases[i].status);
		assert_int_equal(result.signal, cases[i].signal);
		assert_int_equal(result.is_timeout, cases[i].way[0] == 'd');
	}
}

/* The parent of the next case is a child itself, so that its buffer is not ours. */
static int leave_something_buffered(void *context)
{
	struct child_spec spec = call(misbehave, (void *)"e");
	struct child_result result = {0};
	struct diag diag = {0};

	(void)context;
	setvbuf(stdout, NULL, _IOFBF, 4096);
	fputs("unflushed", stdout);
	if (child_run(&spec, &result, &diag) != 0)
		return 1;
	return result.exit_status != 7 || result.output.size != 0;
}

static void a_parents_buffer_is_not_the_childs(void **state)
{
	struct child_spec spec = call(leave_something_buffered, NULL);

	(void)state;
	assert_prints(&spec, "");
}

/* What a child_run() in a process that dies leaves behind: nothing. */
static int wait_for_death(void *context)
{
	pid_t pid = getpid();

	if (write(*(const int *)context, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		return 1;
	for (;;)
		pause();
}

static void die_and_look(int (*prepare)(void *context))
{
	struct child_spec spec;
	int ends[2], status;
	pid_t middle, child;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	spec = call(wait_for_death, &ends[1]);
	spec.keep_fds = &ends[1];
	spec.keep_count = 1;
	spec.prepare = prepare;
	middle = fork();
	if (middle == 0) {
		struct child_result result;
		struct diag diag = {0};

		_exit(child_run(&spec, &result, &diag) != 0);
	}
	assert_true(middle > 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	close(ends[0]);
	assert_int_equal(kill(middle, SIGKILL), 0);
	assert_int_equal(waitpid(middle, &status, 0), middle);
	/* It is ours to reap now: it has ended of the same signal. */
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void a_parent_that_dies_takes_it_along(void **state)
{
	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	die_and_look(NULL);
	/* The kernel forgets the signal with a change of user. */
	die_and_look(become_nobody);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void checked_runs_explain(void **state)
{
	static const struct {
		const char *script, *text;
		int timeout_ms;
	} cases[] = {
		{"echo one >&2; echo two >&2; exit 9", "exit status 9: two", LONG_MS},
		{"printf 'last\\n\\n\\n' >&2; exit 1", "exit status 1: last", LONG_MS},
		{"exit 1", "exit status 1: ", LONG_MS},
		{"printf '\\033[2J' >&2; exit 1", "exit status 1: ?[2J", LONG_MS},
		{"kill -9 $$", "ended by signal 9", LONG_MS},
		{"sleep 1000", "not done after 50 ms", 50},
		{"yes", "printed more than it may", LONG_MS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct child_result result = {.exit_status = 42};
		struct child_spec spec = SHELL(cases[i].script);
		struct diag diag = {0};

		spec.timeout_ms = cases[i].timeout_ms;
		assert_int_equal(child_run_checked(&spec, &result, &diag), -EIO);
		assert_int_equal(diag.kind, DIAG_UNDECIDED);
		assert_string_equal(diag.place, "/bin/sh");
		assert_string_equal(diag.text, cases[i].text);
		assert_int_equal(result.exit_status, 42);
		assert_null(result.output.data);
	}
}

static void checked_runs_give_the_output(void **state)
{
	OWN(child_result_release) struct child_result result = {0};
	struct child_spec spec = SHELL("echo yes");
	struct diag diag = {0};

	(void)state;
	assert_int_equal(child_run_checked(&spec, &result, &diag), 0);
	assert_string_equal(result.output.data, "yes\n");
}

static void no_descriptors_left_is_no_verdict(void **state)
{
	struct child_spec spec = SHELL("echo done");
	unsigned int before = count_descriptors(), failed = 0;
	struct rlimit limit, low;
	int first = dup(0);

	(void)state;
	close(first);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	spec.input = "";
	low = limit;
	for (unsigned int room = 0; room < 14; room++) {
		OWN(child_result_release) struct child_result result = {0};
		struct diag diag = {0};
		int error;

		low.rlim_cur = (rlim_t)first + room;
		setrlimit(RLIMIT_NOFILE, &low);
		error = child_run(&spec, &result, &diag);
		setrlimit(RLIMIT_NOFILE, &limit);
		assert_int_equal(count_descriptors(), before);
		if (error) {
			assert_int_equal(error, -EMFILE);
			assert_int_equal(diag.kind, DIAG_UNDECIDED);
			assert_null(result.output.data);
			failed++;
		}
	}
	assert_in_range(failed, 4, 12);
	assert_int_equal(reap_all(0), -1);
}

static void a_caller_that_lets_the_kernel_reap(void **state)
{
	struct child_spec spec = SHELL("exit 0");
	struct child_result result = {.exit_status = 42};
	struct diag diag = {0};

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_true(child_run(&spec, &result, &diag) < 0);
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_int_equal(result.exit_status, 42);
}

static int check_nothing_left(void **state)
{
	(void)state;
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

static unsigned int descriptors_at_start;

static int count_at_start(void **state)
{
	(void)state;
	descriptors_at_start = count_descriptors();
	return 0;
}

static int count_at_end(void **state)
{
	(void)state;
	return count_descriptors() == descriptors_at_start ? 0 : -1;
}

#define CASE(name) cmocka_unit_test_teardown(name, check_nothing_left)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(status_and_both_outputs),
		CASE(the_environment_is_exact),
		CASE(input_arrives_whole),
		CASE(no_input_is_an_end_of_file),
		CASE(input_may_be_refused),
		CASE(a_flood_is_stopped_at_its_limit),
		CASE(the_limit_itself_is_allowed),
		CASE(a_deadline_ends_it),
		CASE(no_time_is_a_deadline_too),
		CASE(a_grandchild_with_the_pipe_holds_nothing_up),
		CASE(signals_are_told_apart),
		CASE(signals_start_at_their_defaults),
		CASE(our_own_signals_do_not_disturb_it),
		CASE(no_handler_of_ours_runs_in_it),
		CASE(no_descriptor_is_inherited),
		CASE(a_kept_descriptor_survives_exec),
		CASE(standard_descriptors_may_be_closed),
		CASE(folder_mask_and_session_are_fixed),
		CASE(a_failing_start_is_no_verdict),
		CASE(status_127_may_be_the_childs_own),
		CASE(functions_may_crash),
		CASE(a_parents_buffer_is_not_the_childs),
		CASE(a_parent_that_dies_takes_it_along),
		CASE(checked_runs_explain),
		CASE(checked_runs_give_the_output),
		CASE(no_descriptors_left_is_no_verdict),
		CASE(a_caller_that_lets_the_kernel_reap),
	};

	if (geteuid() != 0) {
		puts("wants root: it changes users");
		return 77;
	}
	return cmocka_run_group_tests(tests, count_at_start, count_at_end);
}
