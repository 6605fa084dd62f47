/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that must hold before anything starts (SPEC 7.1). */
#ifndef COLLECTOR_BINDINGS_H
#define COLLECTOR_BINDINGS_H

#include "collector/session.h"

/*
 * Theory of operation
 *
 * Three steps, each read-only. bindings_read() takes the operator's files;
 * bindings_inspect() looks at the host: it is all of a preflight, and half of a
 * collection's bindings; bindings_check() compares both with the preflight and the
 * profile. Whatever does not hold refuses, and says what to do.
 */

/* What net-preflight is given: a site and a release, by path. */
int bindings_read_site(struct session *session, const char *site_path,
		       const char *release_path, struct diag *diag);

/* What a collection is given: the configuration and all it names. */
int bindings_read(struct session *session, const char *config_path, struct diag *diag);

/* Looks at the host and fills a preflight with what it is. */
int bindings_inspect(struct session *session, struct preflight *ret_preflight,
		     struct diag *diag);

/* SPEC 7.1 whole, after bindings_read(): inspects, compares, and fills the record's
 * head and preconditions. */
int bindings_check(struct session *session, struct diag *diag);

#endif
