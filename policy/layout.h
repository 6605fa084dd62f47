/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What follows from a site: the places and accounts its units use. */
#ifndef POLICY_LAYOUT_H
#define POLICY_LAYOUT_H

#include "common/diag.h"
#include "policy/site.h"

/*
 * Theory of operation
 *
 * Whoever renders the units and whoever meets them on a host (the collector,
 * the lab) take every derived name from here.
 *
 * The runtime folder (`site.runtime_dir`) is made at boot, mode 0750, owned by
 * root and the worker's group: the plan and the gate lie in it, so that only root
 * can put them there; who does gives them that group and mode 0640, for the unit's
 * net-once to read. The worker unit makes the agent's folder inside it at each
 * start, mode 0700, owned by the workload user, and systemd removes it after the
 * last ExecStopPost: the socket and the report lie there. No other process of the
 * workload user has the worker's group, so none passes the outer folder, although
 * it has the uid that owns the inner one.
 */

#define LAYOUT_PATH_SIZE (SITE_PATH_SIZE + 32)

struct layout {
	char probe[LAYOUT_PATH_SIZE]; /* the probe runner, net-probe */
	char policy[LAYOUT_PATH_SIZE];
	char proxy[LAYOUT_PATH_SIZE];
	char agent_dir[LAYOUT_PATH_SIZE]; /* exists only while the unit does */
	char agent_socket[SITE_SOCKET_SIZE];
	char plan[LAYOUT_PATH_SIZE];
	char report[LAYOUT_PATH_SIZE];
	char gate[LAYOUT_PATH_SIZE]; /* a FIFO */
	char engine_socket_dir[SITE_SOCKET_SIZE];
	char state_dir[LAYOUT_PATH_SIZE];     /* the workload user's, with the
					       * engine's data in "docker" */
	char worker_group[SITE_ACCOUNT_SIZE]; /* only the worker unit has it */
	char proxy_user[SITE_ACCOUNT_SIZE];   /* and its group */
};

/* Derives the layout. Refuses what no unit can be made of: a path that systemd
 * would not take as it stands, an account or socket name that would be too
 * long, an engine socket that has no folder of its own. `name` is what messages
 * call the site file. */
int layout_of_site(const struct site *site, const char *name, struct layout *ret_layout,
		   struct diag *diag);

#endif
