/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept connections and listeners, by handle, and their expiry. */
#ifndef AGENT_HANDLES_H
#define AGENT_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/outcome.h"
#include "agent/request.h"

/*
 * Theory of operation
 *
 * A handle is issued a number when its request starts, so numbers follow the order
 * of requests, and is open once its request succeeded. It ends when its flow is found
 * dead or its expiry passes: then its descriptor is closed, its place is free for
 * another, and its outcome is remembered by number, so that asking again is no
 * mistake of the asker's and gets the same outcome.
 *
 * An expiry is two deadlines, one on each clock. It is over when either is: setting
 * the wall clock back cannot stretch a grant, nor can the boot clock, which is fixed
 * on receipt, outlive a wall clock that was set forward.
 */

#define HANDLES_MAX 64

struct expiry {
	int64_t wall_ms; /* clock_wall_ms(); INT64_MAX: never */
	int64_t boot_ms; /* clock_boot_ms(); INT64_MAX: never */
};

#define EXPIRY_NEVER ((struct expiry){INT64_MAX, INT64_MAX})

struct handle {
	int fd; /* -1: the place is free */
	char kind;
	unsigned int number;
	bool is_checked; /* a check is under way: one at a time */
	struct expiry expiry;
};

struct handles {
	struct handle places[HANDLES_MAX];
	unsigned int open_count;
	unsigned int issued;
	uint8_t ended[HANDLE_NUMBER_MAX + 1]; /* by number; 0: not ended */
};

void handles_init(struct handles *handles);

/* The next number. */
unsigned int handles_issue(struct handles *handles);

/* Puts `fd` into a free place, which then owns it, and returns that; NULL when all
 * are taken, and then `fd` is still the caller's. */
struct handle *handles_open(struct handles *handles, char kind, unsigned int number,
			    int fd, struct expiry expiry);

/* Looks a handle up by its text ("c1"). Returns 0 and `*ret_handle`; 1 and the
 * outcome that ended it; or -ENOENT when there never was such a handle. */
int handles_find(const struct handles *handles, const char *text,
		 struct handle **ret_handle, enum outcome *ret_ended);

/* Closes the handle and remembers why. */
void handles_end(struct handles *handles, struct handle *handle, enum outcome outcome);

/* Ends, as closed, every handle whose expiry is over. */
void handles_end_expired(struct handles *handles);

/* The earliest deadline on each clock; EXPIRY_NEVER's where there is none. */
struct expiry handles_next_expiry(const struct handles *handles);

void handles_close(struct handles *handles);

/* The expiry of a grant that ends at `unix_seconds`, received now. */
struct expiry expiry_from_now(int64_t unix_seconds);

bool expiry_is_over(struct expiry expiry);

#endif
