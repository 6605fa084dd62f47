/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a call failed: one cause, its place, and whether it is a verdict. */
#ifndef COMMON_DIAG_H
#define COMMON_DIAG_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Theory of operation
 *
 * Every function that can fail returns 0 or -errno and takes a `struct diag`
 * of its caller's. The function that knows the cause records it, once; the
 * ones above only return, or put the name of what they were reading before
 * the place. `kind` keeps "no" apart from "could not tell" all the way up to
 * the exit status, so neither can be folded into the other on the way.
 */

/* The exit statuses of every program. */
enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_REFUSED = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_DIFFERENT = 3,
	EXIT_STATUS_UNDECIDED = 4,
};

enum diag_kind {
	DIAG_NONE = 0,
	DIAG_REFUSED,   /* the input or the host is not as it must be */
	DIAG_USAGE,     /* the caller asked for what cannot be asked */
	DIAG_UNDECIDED, /* the environment failed before there was a verdict */
};

#define DIAG_PLACE_SIZE 256
#define DIAG_TEXT_SIZE 768

/* Starts as all zero ("struct diag diag = {0};"); owns nothing. */
struct diag {
	enum diag_kind kind;
	char place[DIAG_PLACE_SIZE]; /* "config.json: store", or empty */
	char text[DIAG_TEXT_SIZE];   /* "not a clean absolute path" */
};

/* What a function returns for a positive errno; never 0. */
static inline int diag_code(int error)
{
	return error > 0 ? -error : -EIO;
}

/* Records a refusal. The first cause recorded stands: on a diag that already
 * has one, these change nothing. `place` may be NULL. Control characters and
 * bytes outside ASCII in what is recorded become '?', so that no input can
 * forge a line or a terminal sequence. Gives -EINVAL. (A macro, like the next
 * three: the compiler and the analyser see that it is never 0.) */
#define diag_refuse(diag_, place_, ...)                                                  \
	(diag_record((diag_), DIAG_REFUSED, 0, (place_), __VA_ARGS__), diag_code(EINVAL))

/* Records a mistake of the caller's: exit status 2. Gives -EINVAL. */
#define diag_usage(diag_, place_, ...)                                                   \
	(diag_record((diag_), DIAG_USAGE, 0, (place_), __VA_ARGS__), diag_code(EINVAL))

/* Records that the environment failed; ": strerror(error)" is added to the
 * text when `error_` (a positive errno) is not 0. Gives -error, or -EIO. */
#define diag_fail(diag_, error_, place_, ...)                                            \
	__extension__({                                                                  \
		int failed_ = (error_);                                                  \
		diag_record((diag_), DIAG_UNDECIDED, failed_, (place_), __VA_ARGS__);    \
		diag_code(failed_);                                                      \
	})

/* Out of memory. Gives -ENOMEM. */
#define diag_no_memory(diag_) diag_fail((diag_), ENOMEM, NULL, "out of memory")

/* What the macros above do: callers use those. */
void diag_record(struct diag *diag, enum diag_kind kind, int error, const char *place,
		 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Puts "prefix: " before the place, or makes it the place if there is none. */
void diag_prefix(struct diag *diag, const char *prefix);

/* "refused", "usage" or "could not tell"; "" for DIAG_NONE. */
const char *diag_kind_name(enum diag_kind kind);

/* Writes "PLACE: TEXT" into `ret_line`, cut to its size. Returns `ret_line`. */
char *diag_render(const struct diag *diag, char *ret_line, size_t size);

/* EXIT_STATUS_REFUSED, _USAGE or _UNDECIDED; the last also for DIAG_NONE,
 * because a failure that left no cause is not a verdict. */
enum exit_status diag_exit_status(const struct diag *diag);

#endif
