// SPDX-License-Identifier: GPL-2.0-or-later
// Children that live as long as a collection: helpers, and agents of our own.
#include "collector/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/close_range.h>

#include "common/own.h"

enum { ENDS = 2, STANDARD = 3 };

/* Descriptors above 2, so that dup2() in the child cannot collide. */
static int make_pipe(int ends[ENDS])
{
	int low[ENDS];

	if (pipe2(low, O_CLOEXEC) != 0)
		return -errno;
	for (int i = 0; i < ENDS; i++)
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STANDARD);
	close(low[0]);
	close(low[1]);
	return ends[0] < 0 || ends[1] < 0 ? -EMFILE : 0;
}

struct pipes {
	int input[ENDS], output[ENDS], setup[ENDS];
};

static void release_pipes(struct pipes *pipes)
{
	for (int i = 0; i < ENDS; i++) {
		own_fd(&pipes->input[i]);
		own_fd(&pipes->output[i]);
		own_fd(&pipes->setup[i]);
	}
}

/* Leaves 0 to 2, and `setup` and the program at two known numbers. */
static int arrange_descriptors(const struct pipes *pipes, int *setup, int *program)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(pipes->input[0], 0) < 0 || dup2(pipes->output[1], 1) < 0 ||
	    dup2(null, 2) < 0)
		return -errno;
	/* First out of the way of the two numbers, then onto them. */
	*setup = fcntl(*setup, F_DUPFD_CLOEXEC, STANDARD + 2);
	if (*setup < 0)
		return -errno;
	if (*program >= 0) {
		*program = fcntl(*program, F_DUPFD_CLOEXEC, STANDARD + 2);
		if (*program < 0 || dup3(*program, STANDARD + 1, O_CLOEXEC) < 0)
			return -errno;
		*program = STANDARD + 1;
	} else {
		close(STANDARD + 1); /* EBADF is as good */
	}
	if (dup3(*setup, STANDARD, O_CLOEXEC) < 0)
		return -errno;
	*setup = STANDARD;
	return syscall(SYS_close_range, STANDARD + 2, ~0U, 0) == 0 ? 0 : -errno;
}

static int enter_child(const struct spawn_spec *spec, const struct pipes *pipes,
		       pid_t parent, int *setup, int *program)
{
	sigset_t none;
	int error;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	error = arrange_descriptors(pipes, setup, program);
	if (error)
		return error;
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL); /* some refuse, as they should */
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) != 0 || setsid() < 0 || chdir("/") != 0)
		return -errno;
	error = spec->prepare ? spec->prepare(spec->context) : 0;
	/* A change of user clears the parent-death signal. */
	if (!error && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		error = -errno;
	return error;
}

__attribute__((noreturn)) static void be_child(const struct spawn_spec *spec,
					       const struct pipes *pipes, pid_t parent)
{
	static const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8",
						  "LC_ALL=C.UTF-8", "TZ=UTC", NULL};
	int setup = pipes->setup[1], program = spec->program_fd;
	int error = enter_child(spec, pipes, parent, &setup, &program);

	if (!error && spec->function) {
		close(setup);
		_exit(spec->function(spec->context));
	}
	if (!error) {
		syscall(SYS_execveat, program, "", spec->arguments, environment,
			AT_EMPTY_PATH);
		error = -errno;
	}
	/* A parent that cannot read it finds the child gone all the same. */
	_exit(write(setup, &error, sizeof(error)) == (ssize_t)sizeof(error) ? 126 : 127);
}

static int follow_start(struct pipes *pipes, const char *name, struct spawned *child,
			struct diag *diag)
{
	int failed = 0;

	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	child->input = take_fd(&pipes->input[1]);
	child->output = take_fd(&pipes->output[0]);
	own_fd(&pipes->setup[1]);
	if (child->pidfd < 0 || fcntl(child->input, F_SETFL, O_NONBLOCK) != 0 ||
	    fcntl(child->output, F_SETFL, O_NONBLOCK) != 0)
		return diag_fail(diag, errno, name, "cannot be followed");
	/* End of file: executed, or running our function. */
	if (read(pipes->setup[0], &failed, sizeof(failed)) != 0)
		return diag_fail(diag, -failed, name, "cannot be started");
	return 0;
}

int spawn_start(const struct spawn_spec *spec, const char *name,
		struct spawned *ret_child, struct diag *diag)
{
	OWN(release_pipes) struct pipes pipes = {{-1, -1}, {-1, -1}, {-1, -1}};
	OWN(spawn_stop) struct spawned child = SPAWNED_INIT;
	pid_t parent = getpid();
	int error = make_pipe(pipes.input);

	assert((spec->program_fd >= 0) == !spec->function);
	if (!error)
		error = make_pipe(pipes.output);
	if (!error)
		error = make_pipe(pipes.setup);
	if (error)
		return diag_fail(diag, -error, name, "cannot make pipes");
	child.pid = fork();
	if (child.pid < 0) {
		child.pid = 0;
		return diag_fail(diag, errno, name, "cannot be started");
	}
	if (child.pid == 0)
		be_child(spec, &pipes, parent);
	error = follow_start(&pipes, name, &child, diag);
	if (error)
		return error;
	*ret_child = child;
	child = (struct spawned)SPAWNED_INIT;
	return 0;
}

void spawn_stop(struct spawned *child)
{
	own_fd(&child->input);
	own_fd(&child->output);
	if (child->pid > 0) {
		/* Ours and not reaped: the number is still its own. */
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		child->pid = 0;
	}
	own_fd(&child->pidfd);
}
