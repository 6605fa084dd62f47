/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A whole collection, and the recovery of one that was cut short. */
#ifndef COLLECTOR_COLLECT_H
#define COLLECTOR_COLLECT_H

#include "collector/session.h"

#define COLLECT_PHRASE "COLLECT NATIVE NETWORK ENFORCEMENT EVIDENCE"

struct collect_result {
	char record_sha256[DIGEST_TEXT_SIZE]; /* "" without a record */
	size_t probes, good; /* all, and those that matched and are conclusive */
	bool is_clean;
	struct diag residue; /* if not: what is left, or why that is not known */
};

/* Runs the collection that `config_path` asks for, on a session that is open. With
 * `is_dry`, stops after the bindings. A failure has been cleaned up after; what that
 * left is in `ret_result->residue`. */
int collect_network(struct session *session, const char *config_path, bool is_dry,
		    struct collect_result *ret_result, struct diag *diag);

/* Undoes what an earlier collection left. `*ret_found` false: nothing. */
int collect_recover(struct session *session, bool *ret_found, struct diag *diag);

#endif
