/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What on this host is still nobody's: uids, ranges of them, addresses, ports. */
#ifndef COLLECTOR_FREEIDS_H
#define COLLECTOR_FREEIDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/diag.h"

#define FREEIDS_RANGE 65536 /* as many as a container needs to have all its uids */

/* Whether there is an account of that name. */
bool freeids_has_account(const char *name);

/* The highest uid of system accounts that is no account's and no group's. */
int freeids_find_uid(uint32_t *ret_uid, struct diag *diag);

/* The first uid of FREEIDS_RANGE that overlap with nobody's in /etc/subuid and
 * /etc/subgid. */
int freeids_find_range(uint32_t *ret_first, struct diag *diag);

/* Whether a route of this host's other than the default one leads to the address. */
int freeids_is_routed(uint32_t address, bool *ret_is_routed, struct diag *diag);

/* Whether a TCP socket listens on the port: on any address, or on `address` (0: only
 * those on any). */
int freeids_is_listening(uint32_t address, uint16_t port, bool *ret_is_listening,
			 struct diag *diag);

#endif
