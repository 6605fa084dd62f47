/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Child processes that are bounded: time, output, environment, descriptors. */
#ifndef COMMON_CHILD_H
#define COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/diag.h"
#include "common/own.h"

/*
 * Theory of operation
 *
 * A child is either a program (`path` and `arguments`) or a function of ours
 * (`function`: for libraries that may crash or exit). Both start the same way:
 * forked with a pidfd, in a new session, signals at their defaults and
 * unblocked, cwd "/", umask 022, descriptors 0 to 2 ours and none other,
 * parent-death signal SIGKILL; then `prepare` (to change user or namespace), then
 * exec or the function. The environment is exactly PATH, LANG, LC_ALL and TZ, and
 * `environment`. No shell is involved.
 *
 * The parent feeds `input` and reads both outputs until end of file *and* exit,
 * or until the deadline or an output's limit; then it kills what it started, its
 * whole process group, and reaps it. Standard output and error have their own
 * limits, and what was read is kept. It never waits for a grandchild that kept a
 * pipe open longer than the deadline. The child is reaped last, so its number
 * stays its own as long as it is used.
 */

struct child_spec {
	const char *path;             /* absolute */
	const char *const *arguments; /* argv, ends with NULL */
	/* Instead of a program: runs in the child, its value (0 to 255) is the exit
	 * status. Standard output is descriptor 1: use write(), what is left in a
	 * stdio buffer is lost. */
	int (*function)(void *context);
	const char *name; /* of `function`, in messages; NULL: "child process" */
	/* Called in the child before exec or `function`; -errno ends the child and
	 * is reported as "could not tell". Async-signal-safe calls are not needed:
	 * callers have one thread. */
	int (*prepare)(void *context);
	void *context;
	const char *const *environment; /* "NAME=value", ends with NULL; or NULL */
	const void *input;              /* for standard input; NULL: /dev/null */
	size_t input_size;
	int timeout_ms; /* on CLOCK_MONOTONIC */
	size_t output_limit;
	size_t error_limit;
	const int *keep_fds; /* above 2; inherited under the same numbers; or NULL */
	size_t keep_count;
};

struct child_result {
	int exit_status;            /* 0 to 255, or -1 if a signal ended it */
	int signal;                 /* that signal, or 0 */
	bool is_timeout;            /* the deadline passed; it was killed */
	bool is_overflow;           /* an output passed its limit; it was killed */
	struct bytes output, error; /* a NUL follows each */
};

/* Runs the child to its end. Returns 0 whenever it could be started and reaped,
 * whatever it did; otherwise "could not tell". The caller owns the result. */
int child_run(const struct child_spec *spec, struct child_result *ret_result,
	      struct diag *diag);

/* child_run(), and anything but exit status 0 in time and within the limits is
 * "could not tell", with the last line of the child's standard error. */
int child_run_checked(const struct child_spec *spec, struct child_result *ret_result,
		      struct diag *diag);

/* Records what ended a child otherwise than with status 0. */
int child_explain(const struct child_spec *spec, const struct child_result *result,
		  struct diag *diag);

void child_result_release(struct child_result *result);

#endif
