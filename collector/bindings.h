/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that must hold before anything starts (SPEC 7.1). */
#ifndef COLLECTOR_BINDINGS_H
#define COLLECTOR_BINDINGS_H

#include "collector/session.h"

/*
 * Theory of operation
 *
 * One table of checks, each read-only, in the order in which a host is made ready:
 * what refuses first is what has to be done first. Three uses: a preflight runs those
 * that look at the host, a collection all of them, both up to the first that does not
 * hold; a survey goes on after it with whatever can still be looked at.
 */

enum binding {
	BINDING_PACKAGES, /* this and its like only a survey looks at */
	BINDING_CONFIG,
	BINDING_SITE,
	BINDING_ENDPOINTS, /* survey */
	BINDING_RELEASE,
	BINDING_HOST,
	BINDING_PROGRAMS,
	BINDING_UNIT_FILES,
	BINDING_UNIT_LOADS,
	BINDING_ACCOUNT,
	BINDING_RANGES,
	BINDING_FOLDERS, /* survey */
	BINDING_WORKER,
	BINDING_GUARD,
	BINDING_ADDRESSES,
	BINDING_PROXY,
	BINDING_MANAGER,
	BINDING_ENGINE_UNIT,
	BINDING_ENGINE,
	BINDING_JOURNAL, /* survey */
	BINDING_WORKER_IDLE,
	BINDING_ENGINE_IDLE,
	BINDING_IMAGE,
	BINDING_RULES,
	BINDING_STORE,
	BINDING_PIN,
	BINDING_SAME_HOST,
	BINDING_PREFLIGHT,
	BINDING_SOCKETS,
	BINDING_PROFILE,
	BINDING_COUNT,
};

enum binding_state {
	BINDING_HELD,
	BINDING_BROKEN, /* refused, or could not be told: the diag says */
	BINDING_UNSEEN, /* what it needs does not hold */
};

/* What the checks work on. `found` fills up with what a preflight says. */
struct look {
	struct session *session;
	struct preflight *found;
	const char *config_path;
	const char *endpoints_path;           /* of a survey */
	char pinned_sha256[DIGEST_TEXT_SIZE]; /* the release that the config names */
};

/* Everything that can be looked at; `on_binding` is called for each, in order. */
void bindings_survey(struct look *look,
		     void (*on_binding)(void *context, enum binding binding,
					enum binding_state state,
					const struct diag *diag),
		     void *context);

/* Looks at the host and fills a preflight with what it is. */
int bindings_inspect(struct session *session, const char *site_path,
		     const char *release_path, struct preflight *ret_preflight,
		     struct diag *diag);

/* SPEC 7.1 whole, from the configuration on; fills the record's head and
 * preconditions. */
int bindings_check(struct session *session, const char *config_path, struct diag *diag);

#endif
