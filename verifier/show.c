// SPDX-License-Identifier: GPL-2.0-or-later
// Objects of a store as text for people. No verdict is in it.
#include "verifier/show.h"

#include <string.h>

#include "common/moment.h"

#define ROW "%-18s %s\n"

static void add_time(struct buffer *buffer, const char *what, int64_t at_unix)
{
	char text[MOMENT_SIZE];

	buffer_print(buffer, ROW, what, moment_format(at_unix, text));
}

static void add_host(struct buffer *buffer, const struct host *host)
{
	buffer_print(buffer, ROW, "machine", host->machine_id_sha256);
	buffer_print(buffer, ROW, "boot", host->boot_id);
	buffer_print(buffer, ROW, "kernel", host->kernel);
}

static void add_unit(struct buffer *buffer, const char *what,
		     const struct unit_state *unit)
{
	buffer_print(buffer, "%-18s %s: %s (%s)\n", what, unit->name, unit->active_state,
		     unit->sub_state);
}

static void show_preflight(const struct preflight *preflight, struct buffer *buffer)
{
	buffer_print(buffer, "preflight\n\n");
	add_time(buffer, "checked", preflight->checked_at_unix);
	add_host(buffer, &preflight->host);
	buffer_print(buffer, ROW, "site", preflight->site_sha256);
	buffer_print(buffer, ROW, "release", preflight->release_sha256);
	buffer_print(buffer, "%-18s %s, %s\n", "engine", preflight->daemon.version,
		     preflight->daemon.socket);
	buffer_print(buffer, ROW, "engine identity", preflight->daemon_sha256);
	add_unit(buffer, "worker", &preflight->units.worker);
	add_unit(buffer, "guard", &preflight->units.guard);
	add_unit(buffer, "proxy", &preflight->units.proxy);
	add_unit(buffer, "engine unit", &preflight->units.engine);
	buffer_print(buffer, ROW, "ruleset", preflight->nft_ruleset_semantic_sha256);
	buffer_print(buffer, ROW, "guard in kernel", preflight->guard_kernel_sha256);
	buffer_print(buffer, ROW, "foreign rules", preflight->nft_foreign_sha256);
}

/* The number of a probe's endpoint among the record's trusted ones, from 1; 0 for
 * any other. */
static size_t endpoint_number(const struct record *record,
			      const struct record_probe *probe)
{
	for (size_t i = 0; i < record->endpoint_count && probe->has_endpoint; i++)
		if (record->endpoints[i].role == ENDPOINT_ROLE_TRUSTED_TCP &&
		    strcmp(record->endpoints[i].endpoint_sha256,
			   probe->endpoint_sha256) == 0)
			return i + 1;
	return 0;
}

static void add_probe(struct buffer *buffer, const struct record *record,
		      const struct record_probe *probe)
{
	size_t number = endpoint_number(record, probe);
	char name[CATALOG_ID_SIZE + 24];

	if (number)
		snprintf(name, sizeof(name), "%s #%zu", probe->id, number);
	else
		snprintf(name, sizeof(name), "%s", probe->id);
	buffer_print(buffer, "  %-46s %-20s %-20s %-14s %s\n", name,
		     expectation_names[probe->expect], observed_names[probe->observed],
		     basis_names[probe->basis],
		     !probe->matched      ? "NO MATCH"
		     : !probe->conclusive ? "NOT CONCLUSIVE"
					  : "ok");
}

static void add_phase(struct buffer *buffer, const struct record *record,
		      const struct record_phase *phase)
{
	char begin[MOMENT_SIZE], end[MOMENT_SIZE];

	moment_format(phase->started_at_unix, begin);
	moment_format(phase->completed_at_unix, end);
	buffer_print(buffer, "\n%s: observed from %s to %s\n", phase_names[phase->phase],
		     begin, end);
	buffer_print(buffer, "  %-46s %-20s %-20s %-14s %s\n", "probe", "expected",
		     "observed", "basis", "as claimed");
	for (size_t i = 0; i < phase->probe_count; i++)
		add_probe(buffer, record, &phase->probes[i]);
}

static void show_record(const struct record *record, struct buffer *buffer)
{
	size_t all, good;

	record_count_probes(record, &all, &good);
	buffer_print(buffer,
		     "record of %s, as it claims; net-verify record judges it\n\n",
		     record_kind_names[record->kind]);
	add_time(buffer, "started", record->started_at_unix);
	add_time(buffer, "completed", record->completed_at_unix);
	add_time(buffer, "window from", record->inputs.issued_at_unix);
	add_time(buffer, "window to", record->inputs.expires_at_unix);
	add_host(buffer, &record->host);
	buffer_print(buffer, ROW, "site", record->site_sha256);
	buffer_print(buffer, ROW, "release", record->release.release_sha256);
	buffer_print(buffer, ROW, "preflight", record->pre_collection_preflight_sha256);
	buffer_print(buffer, "%-18s %s", "coverage", record->coverage);
	for (size_t i = 0; i < record->not_covered_count; i++)
		buffer_print(buffer, "%s%s",
			     i ? ", " : "; not covered: ", record->not_covered[i]);
	buffer_print(buffer, "\n%-18s %zu, %zu of them matched and conclusive\n",
		     "probes", all, good);
	for (size_t i = 0; i < record->phase_count; i++)
		add_phase(buffer, record, &record->phases[i]);
}

void show_object(const struct object *object, struct buffer *buffer)
{
	if (object->kind == OBJECT_RECORD)
		show_record(object->record, buffer);
	else
		show_preflight(object->preflight, buffer);
}
