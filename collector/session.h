/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One collection: what it was given, what it holds, what it has found so far. */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/agentlink.h"
#include "collector/decoder.h"
#include "collector/engine.h"
#include "collector/journal.h"
#include "collector/measure.h"
#include "collector/spawn.h"
#include "collector/units.h"
#include "collector/wait.h"
#include "policy/collection.h"
#include "policy/layout.h"
#include "policy/preflight.h"
#include "policy/profile.h"
#include "policy/record.h"
#include "policy/release.h"
#include "policy/site.h"
#include "policy/subjects.h"
#include "policy/targets.h"

#define SESSION_RUN_SIZE 17    /* 16 hex digits and a NUL */
#define SESSION_GROUPS_MAX 258 /* of an account, and the worker's */

/* An agent, from its start to the end of the collection. */
struct agent {
	int position; /* enum position */
	bool is_there;
	struct process process;
	struct measurement measured; /* after its hello */
	struct agent_link link;
	struct record_agent entry;
	struct spawned child;           /* control and subordinate */
	char unit[UNITS_TEXT_SIZE];     /* daemon: its transient unit */
	char name[ENGINE_NAME_SIZE];    /* container */
	char network[ENGINE_NAME_SIZE]; /* its network, or "none" */
	char address[INET_TEXT_SIZE];   /* in that network */
	char gateway[INET_TEXT_SIZE];
	int net_fd; /* its network namespace */
};

/* What a person is told while it runs; the mains print it. */
struct progress {
	void (*on_phase)(void *context, const char *phase);
	void (*on_probe)(void *context, const struct record_probe *probe, size_t done,
			 size_t all, int64_t seconds_left);
	void (*on_step)(void *context, const char *step);
	void *context;
};

/* About 600 KiB: allocate with calloc(). */
struct session {
	/* Given. */
	const char *config_path;
	char config_sha256[DIGEST_TEXT_SIZE];
	struct collection config;
	struct site site;
	char site_sha256[DIGEST_TEXT_SIZE];
	struct layout layout;
	struct release release;
	struct targets targets;
	struct profile profile;
	struct preflight preflight;
	const char *runner_sha256; /* in `release` */

	/* Found out. */
	int64_t clock_offset_ms; /* the wall clock's from the boot clock, at the start */
	struct host host;
	uid_t uid; /* the workload user's */
	gid_t gid;
	gid_t worker_gid;
	gid_t groups[SESSION_GROUPS_MAX]; /* the user's, and the worker's */
	size_t group_count;
	struct subjects subjects;
	struct engine_info engine_info;
	char daemon_sha256[DIGEST_TEXT_SIZE];
	char worker_unit_sha256[DIGEST_TEXT_SIZE];
	char proxy_sha256[DIGEST_TEXT_SIZE];
	struct measurement self;
	int outer_filters; /* system call filters that all of the host is under */

	/* Held. */
	struct wait wait;
	struct decoder decoder;
	struct units units;
	struct engine engine;
	struct journal journal;
	int folder_fd, lock_fd;
	int runner_fd;
	struct process engine_process;
	int engine_net_fd; /* the engine's network namespace */
	int gate_fd;
	char run[SESSION_RUN_SIZE]; /* names everything we make */
	struct agent agents[POSITION_COUNT];
	int64_t generation;             /* of the last comparison */
	struct record_comparison guard; /* as found before anything started */

	/* Router and flows. */
	char router_listener[AGENT_HANDLE_SIZE]; /* the worker's */
	int64_t router_reached;                  /* by the candidate, so far */

	/* Told. */
	struct progress progress;
	size_t probes_done, probes_all;
	struct record record;
};

/* Opens what every use needs (signals, decoder, bus). `*session` is all zero
 * before, and is closed with session_close() in any case. */
int session_open(struct session *session, struct diag *diag);
void session_close(struct session *session);

void session_step(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Wall clock in whole seconds. */
int64_t session_now(void);

/* Remembers how far the wall clock is from the boot clock, which nobody can set. */
void session_note_clock(struct session *session);

/* Refuses if the wall clock was set since: the window's two ends, the order of what was
 * seen and the record's times would mean nothing. */
int session_check_clock(const struct session *session, struct diag *diag);

/* The trusted endpoint `index` of the profile. */
struct endpoint session_trusted(const struct session *session, size_t index);

/* "KEY=RUN": what marks our containers and networks. */
void session_label(const struct session *session, char *ret_label, size_t size);

/* Adds "; leaks already seen: …" to a failure's text, whole: each probe that an answer
 * has shown to leak, whether or not it was judged since. With a leak, "could not tell"
 * becomes a refusal. */
void session_add_leaks(const struct session *session, struct diag *diag);

#endif
