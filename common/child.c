// SPDX-License-Identifier: GPL-2.0-or-later
// Child processes that are bounded: time, output, environment, descriptors.
#include "common/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/close_range.h>

#include "common/clock.h"

/* What every child gets: a fixed search path and the POSIX locale in UTC. */
#define CHILD_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define CHILD_ENVIRONMENT_MAX 32
#define CHILD_SETUP_FAILED 127
#define CHILD_KEEP_MAX 16

/* The parent's side of a running child. */
struct running {
	pid_t pid;
	int pidfd;
	int input, output, error; /* our ends; -1 once closed */
	int setup;                /* the errno that ended its preparation */
	size_t written;
	bool is_exited; /* ended, but still to be reaped: its number is still its own */
	bool is_reaped;
};

/* Ends the child and what it left in its process group. Before the reaping, so
 * neither number can be another's by now. Only for a child that failed us: what a
 * child that did well leaves behind is meant to stay. */
static void end_group(const struct running *running)
{
	/* ESRCH: it did not get as far as setsid(). */
	kill(-running->pid, SIGKILL);
	/* ESRCH: it has ended; reaping is all that is left. */
	kill(running->pid, SIGKILL);
}

static int wait_for(pid_t pid, int *ret_status)
{
	pid_t reaped;

	do
		reaped = waitpid(pid, ret_status, 0);
	while (reaped < 0 && errno == EINTR);
	return reaped < 0 ? -errno : 0;
}

static void release_running(struct running *running)
{
	int status;

	if (running->pid > 0 && !running->is_reaped) {
		end_group(running);
		/* ECHILD: the caller lets the kernel reap. */
		wait_for(running->pid, &status);
	}
	own_fd(&running->pidfd);
	own_fd(&running->input);
	own_fd(&running->output);
	own_fd(&running->error);
	own_fd(&running->setup);
}

static bool is_kept(const struct child_spec *spec, int fd)
{
	for (size_t i = 0; i < spec->keep_count; i++)
		if (spec->keep_fds[i] == fd)
			return true;
	return false;
}

/* Closes every descriptor from 3 that is not kept. */
static int close_others(const struct child_spec *spec, int setup)
{
	unsigned int next = 3, highest = (unsigned int)setup;

	for (size_t i = 0; i < spec->keep_count; i++)
		if ((unsigned int)spec->keep_fds[i] > highest)
			highest = (unsigned int)spec->keep_fds[i];
	for (; next <= highest; next++) {
		int fd = (int)next;

		if (fd == setup || is_kept(spec, fd))
			continue;
		close(fd); /* mostly not open: EBADF is what we want */
	}
	for (size_t i = 0; i < spec->keep_count; i++)
		if (fcntl(spec->keep_fds[i], F_SETFD, 0) != 0)
			return -errno;
	return syscall(SYS_close_range, highest + 1, ~0U, 0) == 0 ? 0 : -errno;
}

/* Every signal is blocked since before the fork, so none of the parent's handlers
 * can have run here. */
static int reset_signals(void)
{
	/* struct sigaction as the kernel has it (include/linux/signal_types.h): all
	 * zero is SIG_DFL, no flags, an empty mask of 64 signals. */
	static const uint64_t defaults[4];
	sigset_t none;

	/* The call itself, because signal() leaves out the two that the C library keeps
	 * for itself, and a process that posix_spawn() made ignores those.
	 * SIGKILL and SIGSTOP refuse: as they should. */
	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, defaults, NULL, sizeof(uint64_t));
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0 ? 0 : -errno;
}

/* The kernel forgets the signal whenever the child's credentials change
 * (commit_creds()). A parent that died before the call is seen by its absence. */
static int die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static int enter_child(const struct child_spec *spec, const int standard[3], int setup,
		       pid_t parent)
{
	int error = die_with_parent(parent);

	if (error)
		return error;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(standard[fd], fd) < 0)
			return -errno;
	error = close_others(spec, setup);
	if (!error)
		error = reset_signals();
	if (!error && (setsid() < 0 || chdir("/") != 0))
		error = -errno;
	umask(S_IWGRP | S_IWOTH);
	if (!error && spec->prepare) {
		error = spec->prepare(spec->context);
		if (!error)
			error = die_with_parent(parent);
	}
	return error;
}

static void collect_environment(const struct child_spec *spec, const char **ret_list)
{
	size_t count = 0;

	ret_list[count++] = CHILD_PATH;
	ret_list[count++] = "LANG=C.UTF-8";
	ret_list[count++] = "LC_ALL=C.UTF-8";
	ret_list[count++] = "TZ=UTC";
	for (size_t i = 0; spec->environment && spec->environment[i]; i++) {
		assert(count < CHILD_ENVIRONMENT_MAX);
		ret_list[count++] = spec->environment[i];
	}
	ret_list[count] = NULL;
}

static int set_environment(const char **list)
{
	if (clearenv() != 0)
		return -ENOMEM;
	for (; *list; list++)
		if (putenv((char *)*list) != 0)
			return -errno;
	return 0;
}

__attribute__((noreturn)) static void be_child(const struct child_spec *spec,
					       const int standard[3], int setup,
					       pid_t parent)
{
	const char *environment[CHILD_ENVIRONMENT_MAX + 1];
	int error = enter_child(spec, standard, setup, parent);

	collect_environment(spec, environment);
	if (!error && spec->function)
		error = set_environment(environment);
	if (!error && spec->function) {
		/* What the parent has not flushed yet is not this child's output,
		 * should the function's library call exit(). */
		__fpurge(stdout);
		__fpurge(stderr);
		close(setup);
		_exit(spec->function(spec->context));
	}
	if (!error) {
		execve(spec->path, (char *const *)spec->arguments,
		       (char *const *)environment);
		error = -errno;
	}
	/* A parent that does not read it sees status 127 all the same. */
	if (write(setup, &error, sizeof(error)) < 0)
		_exit(CHILD_SETUP_FAILED);
	_exit(CHILD_SETUP_FAILED);
}

/* Moves `*fd` above 2, so that dup2() in the child cannot collide with it. */
static int move_up(int *fd)
{
	int higher = fcntl(*fd, F_DUPFD_CLOEXEC, 3);

	if (higher < 0)
		return -errno;
	own_fd(fd);
	*fd = higher;
	return 0;
}

static int make_pipe(int ends[2])
{
	int error;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	error = move_up(&ends[0]);
	return error ? error : move_up(&ends[1]);
}

struct pipes {
	int input[2], output[2], error[2], setup[2];
};

static void release_pipes(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		own_fd(&pipes->input[i]);
		own_fd(&pipes->output[i]);
		own_fd(&pipes->error[i]);
		own_fd(&pipes->setup[i]);
	}
}

static int make_pipes(const struct child_spec *spec, struct pipes *pipes)
{
	int error;

	if (spec->input) {
		error = make_pipe(pipes->input);
	} else {
		pipes->input[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		error = pipes->input[0] < 0 ? -errno : move_up(&pipes->input[0]);
	}
	if (!error)
		error = make_pipe(pipes->output);
	if (!error)
		error = make_pipe(pipes->error);
	if (!error)
		error = make_pipe(pipes->setup);
	return error;
}

/* fork() with every signal blocked: the parent's mask is back on return, the child
 * sets its own once the parent's handlers are gone. */
static pid_t fork_quietly(void)
{
	sigset_t every, before;
	pid_t pid;
	int error;

	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, &before);
	pid = fork();
	error = errno;
	if (pid != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}

static int start(const struct child_spec *spec, struct running *running)
{
	OWN(release_pipes)
	struct pipes pipes = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	pid_t parent = getpid();
	int error = make_pipes(spec, &pipes);

	if (error)
		return error;
	running->pid = fork_quietly();
	if (running->pid < 0)
		return -errno;
	if (running->pid == 0) {
		int standard[3] = {pipes.input[0], pipes.output[1], pipes.error[1]};

		be_child(spec, standard, pipes.setup[1], parent);
	}
	running->input = take_fd(&pipes.input[1]);
	running->output = take_fd(&pipes.output[0]);
	running->error = take_fd(&pipes.error[0]);
	running->setup = take_fd(&pipes.setup[0]);
	/* Ours and not yet reaped, so the number is still its own. */
	running->pidfd = (int)syscall(SYS_pidfd_open, running->pid, 0);
	if (running->pidfd < 0)
		return -errno;
	for (int i = 0; i < 4; i++) {
		int fd = (const int[]){running->input, running->output, running->error,
				       running->setup}[i];

		if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
			return -errno;
	}
	return 0;
}

/* Reads what is there. Closes `*fd` at its end. */
static int drain(int *fd, size_t limit, struct bytes *bytes, bool *is_overflow)
{
	char piece[16384];
	ssize_t got = read(*fd, piece, sizeof(piece));
	char *grown;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (got == 0) {
		own_fd(fd);
		return 0;
	}
	if ((size_t)got > limit - bytes->size) {
		got = (ssize_t)(limit - bytes->size);
		*is_overflow = true;
	}
	grown = realloc(bytes->data, bytes->size + (size_t)got + 1);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + bytes->size, piece, (size_t)got);
	bytes->data = grown;
	bytes->size += (size_t)got;
	bytes->data[bytes->size] = '\0';
	return 0;
}

static int feed(const struct child_spec *spec, struct running *running)
{
	ssize_t put = write(running->input, (const char *)spec->input + running->written,
			    spec->input_size - running->written);

	if (put < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE)
		return -errno;
	if (put < 0 && errno != EPIPE)
		return 0;
	if (put > 0)
		running->written += (size_t)put;
	/* A child that does not want the rest may close its input. */
	if (put < 0 || running->written == spec->input_size)
		own_fd(&running->input);
	return 0;
}

static int reap(struct running *running, struct child_result *result)
{
	int status, error = wait_for(running->pid, &status);

	if (error)
		return error;
	running->is_reaped = true;
	result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return 0;
}

/* One turn: waits for an event and serves it. */
static int serve(const struct child_spec *spec, struct running *running, int64_t deadline,
		 struct child_result *result)
{
	struct pollfd polled[] = {
		{.fd = running->is_exited ? -1 : running->pidfd, .events = POLLIN},
		{.fd = running->output, .events = POLLIN},
		{.fd = running->error, .events = POLLIN},
		{.fd = running->input, .events = POLLOUT},
	};
	int64_t left = deadline - clock_monotonic_us() / 1000;
	int ready, error = 0;

	ready = left > 0 ? poll(polled, ARRAY_SIZE(polled), (int)left) : 0;
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	if (ready == 0) {
		result->is_timeout = left <= 0 || deadline <= clock_monotonic_us() / 1000;
		return 0;
	}
	if (polled[1].revents)
		error = drain(&running->output, spec->output_limit, &result->output,
			      &result->is_overflow);
	if (!error && polled[2].revents)
		error = drain(&running->error, spec->error_limit, &result->error,
			      &result->is_overflow);
	if (!error && polled[3].revents)
		error = feed(spec, running);
	if (polled[0].revents)
		running->is_exited = true;
	return error;
}

/* SIGPIPE would end us when a child closes its input: blocked while it runs,
 * and taken off the queue, for that thread, afterwards. */
static void block_sigpipe(sigset_t *ret_before)
{
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe_only, ret_before);
}

static void restore_sigpipe(const sigset_t *before)
{
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	while (!sigismember(before, SIGPIPE) &&
	       sigtimedwait(&pipe_only, NULL, &(struct timespec){0}) > 0)
		;
	sigprocmask(SIG_SETMASK, before, NULL);
}

static const char *name_of(const struct child_spec *spec)
{
	if (spec->path)
		return spec->path;
	return spec->name ? spec->name : "child process";
}

static int run(const struct child_spec *spec, struct running *running,
	       struct child_result *result, struct diag *diag)
{
	const char *name = name_of(spec);
	int64_t deadline = clock_monotonic_us() / 1000 + spec->timeout_ms;
	int error = start(spec, running), setup_error = 0;
	ssize_t got;

	if (error)
		return diag_fail(diag, -error, name, "cannot be started");
	while (!error && !result->is_timeout && !result->is_overflow &&
	       (!running->is_exited || running->output >= 0 || running->error >= 0))
		error = serve(spec, running, deadline, result);
	if (error)
		return diag_fail(diag, -error, name, "cannot be followed");
	if (result->is_timeout || result->is_overflow)
		end_group(running);
	error = reap(running, result);
	if (error)
		return diag_fail(diag, -error, name, "cannot be reaped");
	if (result->exit_status != CHILD_SETUP_FAILED)
		return 0;
	/* Nothing in the pipe: the status is the child's own. EAGAIN: so it is, and
	 * something it started holds the pipe. */
	got = read(running->setup, &setup_error, sizeof(setup_error));
	if (got < 0 && errno != EAGAIN)
		return diag_fail(diag, errno, name, "cannot be followed");
	if (got == (ssize_t)sizeof(setup_error))
		return diag_fail(diag, -setup_error, name, "cannot be started");
	return 0;
}

int child_run(const struct child_spec *spec, struct child_result *ret_result,
	      struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {.exit_status = -1};
	OWN(release_running)
	struct running running = {0, -1, -1, -1, -1, -1, 0, false, false};
	sigset_t before;
	int error;

	assert(!spec->path != !spec->function && spec->keep_count <= CHILD_KEEP_MAX);
	for (size_t i = 0; i < spec->keep_count; i++)
		assert(spec->keep_fds[i] > 2);
	result.output.data = calloc(1, 1);
	result.error.data = calloc(1, 1);
	if (!result.output.data || !result.error.data)
		return diag_no_memory(diag);
	block_sigpipe(&before);
	error = run(spec, &running, &result, diag);
	restore_sigpipe(&before);
	if (error)
		return error;
	*ret_result = result;
	result = (struct child_result){0};
	return 0;
}

static const char *last_line(struct bytes *error)
{
	char *line;

	while (error->size && error->data[error->size - 1] == '\n')
		error->data[--error->size] = '\0';
	line = error->data ? strrchr(error->data, '\n') : NULL;
	return line ? line + 1 : error->data ? error->data : "";
}

int child_explain(const struct child_spec *spec, const struct child_result *result,
		  struct diag *diag)
{
	const char *name = name_of(spec);
	struct bytes error = result->error;

	if (result->is_timeout)
		return diag_fail(diag, 0, name, "not done after %d ms", spec->timeout_ms);
	if (result->is_overflow)
		return diag_fail(diag, 0, name, "printed more than it may");
	if (result->signal)
		return diag_fail(diag, 0, name, "ended by signal %d", result->signal);
	return diag_fail(diag, 0, name, "exit status %d: %s", result->exit_status,
			 last_line(&error));
}

int child_run_checked(const struct child_spec *spec, struct child_result *ret_result,
		      struct diag *diag)
{
	OWN(child_result_release) struct child_result result = {0};
	int error = child_run(spec, &result, diag);

	if (error)
		return error;
	if (result.is_timeout || result.is_overflow || result.exit_status != 0)
		return child_explain(spec, &result, diag);
	*ret_result = result;
	result = (struct child_result){0};
	return 0;
}

void child_result_release(struct child_result *result)
{
	own_bytes(&result->output);
	own_bytes(&result->error);
}
