/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What still stands between this host and a collection, and what to do about it. */
#ifndef COLLECTOR_DOCTOR_H
#define COLLECTOR_DOCTOR_H

#include "collector/bindings.h"
#include "common/buffer.h"

/*
 * Theory of operation
 *
 * The bindings are surveyed, and each that does not hold gets one line: the command
 * that mends it, then, as a comment of the shell's, what is not as it must be. Where no
 * command can know what is right (a rule of somebody else's, a process that must end)
 * the whole line is such a comment, and says what to do by hand. The lines stand in the
 * order in which they are to be followed; a binding that needs another one is looked at
 * when that one holds. Nothing on the host is changed.
 */

struct doctor {
	struct session *session;
	const char *config_path;
	const char *trusted; /* for the line that makes endpoints; or NULL */
	struct buffer lines;
	size_t standing;  /* refused: a line each, if not the same as an earlier one */
	size_t undecided; /* could not be told */
	size_t unseen;    /* waiting for what stands */
};

/* Fills in the rest of `*doctor`. */
int doctor_look(struct doctor *doctor, struct diag *diag);

#endif
