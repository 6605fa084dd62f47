// SPDX-License-Identifier: GPL-2.0-or-later
// A collection's steps as structured entries of the system's journal.
#include "collector/eventlog.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include "common/own.h"
#include "policy/tables.h"

/* net-collector(8) lists them. */
#define ID_BEGIN "c69a5b069bc442bf976e081184961b8a"
#define ID_PHASE "a0130865d4f34296ac4611a67713b507"
#define ID_PROBE "ae8b10b6829045f1a8d6cbf94f2195a7"
#define ID_END "a3845e4337554af2af64375547d4fed5"
#define ID_REFUSED "5339f743ebba49ddac03a178ea1c9df8"

#define ENTRY_SIZE 4096
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

struct entry {
	char text[ENTRY_SIZE];
	size_t size;
};

/* A field on a line of its own: no value of ours has a newline. One that does not fit
 * is left out as a whole. */
__attribute__((format(printf, 3, 4))) static void add(struct entry *entry,
						      const char *field,
						      const char *format, ...)
{
	size_t room = sizeof(entry->text) - entry->size;
	char value[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE + 64];
	va_list arguments;
	int used;

	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	used = snprintf(entry->text + entry->size, room, "%s=%s\n", field, value);
	if (used > 0 && (size_t)used < room)
		entry->size += (size_t)used;
}

static void start(const struct eventlog *log, const char *message_id, int priority,
		  struct entry *entry)
{
	entry->size = 0;
	add(entry, "MESSAGE_ID", "%s", message_id);
	add(entry, "PRIORITY", "%d", priority);
	add(entry, "SYSLOG_IDENTIFIER", "net-collector");
	add(entry, "NETPROOF_COLLECTION_ID", "%s", log->id);
	if (log->phase)
		add(entry, "NETPROOF_PHASE", "%s", log->phase);
}

static void put(struct eventlog *log, const struct entry *entry)
{
	if (log->fd < 0)
		return;
	/* A daemon that is behind, or has gone: said at the end, not waited for. */
	if (send(log->fd, entry->text, entry->size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log->dropped++;
}

void eventlog_open(struct eventlog *ret_log)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET};
	OWN(own_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*ret_log = (struct eventlog){.fd = -1};
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		ret_log->fd = take_fd(&fd);
}

void eventlog_close(struct eventlog *log)
{
	own_fd(&log->fd);
}

void eventlog_begin(struct eventlog *log, const char *id)
{
	struct entry entry;

	snprintf(log->id, sizeof(log->id), "%s", id);
	start(log, ID_BEGIN, LOG_NOTICE, &entry);
	add(&entry, "MESSAGE", "collection %s begins", log->id);
	put(log, &entry);
}

void eventlog_phase(struct eventlog *log, const char *phase)
{
	struct entry entry;

	log->phase = phase;
	start(log, ID_PHASE, LOG_INFO, &entry);
	add(&entry, "MESSAGE", "phase %s", phase);
	put(log, &entry);
}

/* What it came to in one word. */
static const char *probe_outcome(const struct record_probe *probe)
{
	if (!probe->matched)
		return "unmatched";
	return probe->conclusive ? "ok" : "inconclusive";
}

void eventlog_probe(struct eventlog *log, const struct record_probe *probe)
{
	const char *outcome = probe_outcome(probe);
	struct entry entry;

	start(log, ID_PROBE, strcmp(outcome, "ok") == 0 ? LOG_INFO : LOG_WARNING, &entry);
	add(&entry, "MESSAGE", "%s: expected %s, observed %s, basis %s: %s", probe->id,
	    expectation_names[probe->expect], observed_names[probe->observed],
	    basis_names[probe->basis], outcome);
	add(&entry, "NETPROOF_PROBE", "%s", probe->id);
	add(&entry, "NETPROOF_OUTCOME", "%s", outcome);
	add(&entry, "NETPROOF_EXPECTED", "%s", expectation_names[probe->expect]);
	add(&entry, "NETPROOF_OBSERVED", "%s", observed_names[probe->observed]);
	add(&entry, "NETPROOF_BASIS", "%s", basis_names[probe->basis]);
	if (probe->has_endpoint)
		add(&entry, "NETPROOF_ENDPOINT_SHA256", "%s", probe->endpoint_sha256);
	put(log, &entry);
}

static void finish(struct eventlog *log, const char *outcome, struct entry *entry)
{
	add(entry, "NETPROOF_OUTCOME", "%s", outcome);
	add(entry, "NETPROOF_DROPPED", "%lu", log->dropped);
	put(log, entry);
}

void eventlog_end(struct eventlog *log, const char *record_sha256, size_t good,
		  size_t probes, bool is_clean)
{
	bool is_good = good == probes && is_clean;
	struct entry entry;

	log->phase = NULL;
	start(log, ID_END, is_good ? LOG_NOTICE : LOG_WARNING, &entry);
	add(&entry, "MESSAGE", "record %s: %zu of %zu probes matched and conclusive%s",
	    record_sha256, good, probes, is_clean ? "" : "; residue remains");
	add(&entry, "NETPROOF_RECORD_SHA256", "%s", record_sha256);
	finish(log, is_good ? "ok" : "different", &entry);
}

void eventlog_refusal(struct eventlog *log, const struct diag *diag)
{
	char line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];
	struct entry entry;

	start(log, ID_REFUSED, LOG_ERR, &entry);
	add(&entry, "MESSAGE", "%s: %s", diag_kind_name(diag->kind),
	    diag_render(diag, line, sizeof(line)));
	finish(log, diag->kind == DIAG_REFUSED ? "refused" : "undecided", &entry);
}
