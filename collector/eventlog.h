/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collection's steps as structured entries of the system's journal. */
#ifndef COLLECTOR_EVENTLOG_H
#define COLLECTOR_EVENTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/diag.h"
#include "policy/record.h"

/*
 * Theory of operation
 *
 * The journal's native protocol: one datagram an entry, a line for each field. It is
 * spoken here and not through sd_journal_sendv(), whose socket blocks: a journal daemon
 * that is stuck must not hold up a window that is running out. What the daemon does not
 * take at once is dropped and counted, and the last entry says how many were; a host
 * without one has no entries. Nothing of the evidence rests on them.
 *
 * The socket is opened before the collector confines itself. No address is ever in an
 * entry, as in the record.
 */

#define EVENTLOG_ID_SIZE 17

struct eventlog {
	int fd;                    /* -1: no journal */
	char id[EVENTLOG_ID_SIZE]; /* NETPROOF_COLLECTION_ID */
	const char *phase;         /* NETPROOF_PHASE; NULL before the first */
	unsigned long dropped;
};

/* `*ret_log` can be used whatever happens. */
void eventlog_open(struct eventlog *ret_log);
void eventlog_close(struct eventlog *log);

void eventlog_begin(struct eventlog *log, const char *id);
void eventlog_phase(struct eventlog *log, const char *phase);
void eventlog_probe(struct eventlog *log, const struct record_probe *probe);
/* The end with a record, or without one: `diag` says why. */
void eventlog_end(struct eventlog *log, const char *record_sha256, size_t good,
		  size_t probes, bool is_clean);
void eventlog_refusal(struct eventlog *log, const struct diag *diag);

#endif
