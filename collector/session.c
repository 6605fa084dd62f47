// SPDX-License-Identifier: GPL-2.0-or-later
// One collection: what it was given, what it holds, what it has found so far.
#include "collector/session.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "collector/confine.h"
#include "collector/formats.h"
#include "common/clock.h"
#include "policy/verdict.h"

/* Slewing stays far below it. */
enum { CLOCK_TOLERANCE_MS = 1000 };

static void close_agent(struct agent *agent)
{
	if (agentlink_is_open(&agent->link))
		agentlink_close(&agent->link);
	process_close(&agent->process);
	spawn_stop(&agent->child);
	own_fd(&agent->net_fd);
	agent->is_there = false;
}

static void set_nothing_held(struct session *session)
{
	session->wait = (struct wait)WAIT_INIT;
	session->decoder = (struct decoder)DECODER_INIT;
	session->journal = (struct journal)JOURNAL_INIT;
	session->folder_fd = session->lock_fd = session->runner_fd = -1;
	session->engine_process = (struct process)PROCESS_INIT;
	session->engine_net_fd = session->gate_fd = -1;
	for (int i = 0; i < POSITION_COUNT; i++) {
		struct agent *agent = &session->agents[i];

		agent->position = i;
		agent->process = (struct process)PROCESS_INIT;
		agent->link.input = agent->link.output = -1;
		agent->child = (struct spawned)SPAWNED_INIT;
		agent->net_fd = -1;
	}
}

int session_open(struct session *session, struct diag *diag)
{
	uint8_t random[(SESSION_RUN_SIZE - 1) / 2];
	int error;

	set_nothing_held(session);
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return diag_fail(diag, errno, NULL, "no random bytes");
	digest_format_hex(random, sizeof(random), session->run);
	error = wait_open(&session->wait, diag);
	if (!error)
		error = confine_collector(diag);
	/* Before anything else is opened, so that it inherits nothing. */
	if (!error)
		error = decoder_start(collector_formats, FORMAT_COUNT, &session->decoder,
				      diag);
	if (!error)
		error = units_open(&session->wait, &session->units, diag);
	return error;
}

void session_close(struct session *session)
{
	for (int i = 0; i < POSITION_COUNT; i++)
		close_agent(&session->agents[i]);
	units_close(&session->units);
	decoder_stop(&session->decoder);
	process_close(&session->engine_process);
	own_fd(&session->engine_net_fd);
	own_fd(&session->runner_fd);
	own_fd(&session->gate_fd);
	journal_close(&session->journal);
	own_fd(&session->lock_fd);
	own_fd(&session->folder_fd);
	wait_close(&session->wait);
}

void session_step(struct session *session, const char *format, ...)
{
	char text[256];
	va_list arguments;

	if (!session->progress.on_step)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	session->progress.on_step(session->progress.context, text);
}

int64_t session_now(void)
{
	return clock_wall_ms() / 1000;
}

void session_note_clock(struct session *session)
{
	session->clock_offset_ms = clock_wall_ms() - clock_boot_ms();
}

int session_check_clock(const struct session *session, struct diag *diag)
{
	int64_t moved = clock_wall_ms() - clock_boot_ms() - session->clock_offset_ms;

	if (moved >= -CLOCK_TOLERANCE_MS && moved <= CLOCK_TOLERANCE_MS)
		return 0;
	return diag_refuse(diag, "wall clock",
			   "was set by %lld ms during the collection; collect again once "
			   "it keeps time",
			   (long long)moved);
}

struct endpoint session_trusted(const struct session *session, size_t index)
{
	const struct profile_endpoint *trusted = &session->profile.trusted_tcp[index];
	struct endpoint endpoint = {.port = (uint16_t)trusted->port};

	strcpy(endpoint.address, trusted->address);
	return endpoint;
}

void session_label(const struct session *session, char *ret_label, size_t size)
{
	snprintf(ret_label, size, "%s=%s", session->site.run_label, session->run);
}

/* One phase's, each id once: the attempts of one follow each other. Returns what is
 * used of `text` then. */
static size_t list_leaks(const struct record_phase *phase, char *text, size_t size,
			 size_t used)
{
	for (size_t i = 0, end; i < phase->probe_count; i = end) {
		const struct record_probe *first = &phase->probes[i];
		char times[32] = "";
		size_t leaks = 0;

		for (end = i; end < phase->probe_count &&
			      strcmp(phase->probes[end].id, first->id) == 0;
		     end++)
			leaks += verdict_is_leak(
				(enum expectation)phase->probes[end].expect,
				(enum observed)phase->probes[end].observed);
		if (!leaks)
			continue;
		if (leaks > 1)
			snprintf(times, sizeof(times), " (%zu)", leaks);
		used += (size_t)snprintf(
			text + used, size - used, "%s%s%s",
			used ? ", " : "; leaks already seen: ", first->id, times);
		/* All of a catalog's, of as many endpoints as can be, have room. */
		assert(used < size);
	}
	return used;
}

void session_add_leaks(const struct session *session, struct diag *diag)
{
	char leaks[DIAG_TEXT_SIZE - sizeof("...")] = "";
	size_t length = 0, room;

	for (size_t i = 0; i < session->record.phase_count; i++)
		length = list_leaks(&session->record.phases[i], leaks, sizeof(leaks),
				    length);
	if (!length)
		return;
	/* A leak is definite, whatever could not be told after it. */
	diag->kind = DIAG_REFUSED;
	/* It is the reason that is cut short, if need be. */
	room = sizeof(diag->text) - 1 - length;
	if (strlen(diag->text) > room)
		strcpy(diag->text + room - strlen("..."), "...");
	strcat(diag->text, leaks);
}
