/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which properties of a unit must be what, and which do not matter. */
#ifndef COLLECTOR_UNIT_RULES_H
#define COLLECTOR_UNIT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/diag.h"
#include "policy/layout.h"
#include "policy/site.h"

/*
 * Theory of operation
 *
 * What a unit's file and its drop-ins add up to is read from systemd, not from the
 * files: the effective properties. They are judged by one table with a row for each
 * property that is known. A property without a row must be what this very systemd gives
 * a unit of which nothing is said; so one that a later systemd adds is covered, too,
 * and a drop-in that sets it refuses until somebody has thought about it.
 *
 * What decides about a row: a probe's failure must mean the policy and nothing else
 * (SPEC 4.2), the cgroup and the ids must be those that the rules name, no
 * command may run, and no process stay, that the evidence does not know.
 */

/* A property and its value as text: unit_form.h says how it is written. */
struct unit_property {
	char *name, *value;
};

/* Starts as all zero; released with unit_properties_release(). */
struct unit_properties {
	struct unit_property *items;
	size_t count, room;
};

void unit_properties_release(struct unit_properties *properties);
int unit_properties_add(struct unit_properties *properties, const char *name,
			const char *value, struct diag *diag);

/* NULL: there is no such property. */
const char *unit_properties_find(const struct unit_properties *properties,
				 const char *name);

/* Judges the worker's unit, whole. `defaults` are those of a unit of which nothing is
 * said. Refuses the first property that is not what it must be. */
int unit_rules_judge_worker(const char *unit, const struct unit_properties *properties,
			    const struct unit_properties *defaults,
			    const struct site *site, const struct layout *layout,
			    struct diag *diag);

/* Judges a unit that is not ours to write, or below which the workload runs: only that
 * nothing in it makes a socket call fail. Properties that one of the two lists does
 * not have are not known to that systemd. */
int unit_rules_judge_sockets(const char *unit, const struct unit_properties *properties,
			     const struct unit_properties *defaults, struct diag *diag);

/* The properties that a unit's digest is taken over, in order; NULL at the end. */
const char *unit_rules_digested(size_t index);

/* The names of the properties that unit_rules_judge_sockets() looks at. */
const char *unit_rules_socket_property(size_t index);

#endif
