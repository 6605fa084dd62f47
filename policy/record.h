/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The evidence record of one collection (netproof.record.v1). */
#ifndef POLICY_RECORD_H
#define POLICY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/own.h"
#include "policy/catalog.h"
#include "policy/endpoint_digest.h"
#include "policy/host.h"
#include "policy/preflight.h"
#include "policy/release.h"
#include "policy/verdict.h"

/*
 * Theory of operation
 *
 * record_parse() knows the form: keys, types, ranges, canonical bytes. It does not
 * judge: a record that is well formed and wrong comes through, so that the
 * verifier can say what is wrong with it, each thing by its own code. The
 * collector fills a struct record and calls record_write(), which refuses what
 * record_parse() would.
 *
 * No address is in it: endpoints by their keyed digest, everything else by the
 * catalog's names.
 */

#define RECORD_LIMIT 262144
#define RECORD_TEXT_SIZE 65
#define RECORD_CGROUP_SIZE 320
#define RECORD_NOT_COVERED_MAX 8
#define RECORD_ENDPOINTS_MAX 36 /* 32 trusted_tcp, 2 trusted_dns, router, proxy */
#define RECORD_RANGES_MAX 16
#define RECORD_COMPARISONS_MAX 16
#define RECORD_AGENTS_MAX 16
#define RECORD_PROBES_MAX 128 /* of one phase: 23 and 3 per trusted endpoint */

enum record_kind {
	RECORD_NETWORK_ENFORCEMENT,
	RECORD_RESOURCE, /* these three are names that exist, not implemented */
	RECORD_PREEXEC,
	RECORD_CLEANUP,
};

extern const char *const record_kind_names[];

struct record_release {
	char release_sha256[DIGEST_TEXT_SIZE];
	char version[RELEASE_VERSION_SIZE];
	char source_revision[RELEASE_REVISION_SIZE];
	char probe_runner_sha256[DIGEST_TEXT_SIZE];
	char targets_sha256[DIGEST_TEXT_SIZE];
	char candidate_image_id[RELEASE_IMAGE_SIZE];
};

/* What did the work, beside the release's own programs. */
struct record_tools {
	char collector_sha256[DIGEST_TEXT_SIZE]; /* of its own open executable */
	char engine_client_sha256[DIGEST_TEXT_SIZE];
	char libnftables[RECORD_TEXT_SIZE]; /* versions */
	char systemd[RECORD_TEXT_SIZE];
};

/* What the operator gave. The profile's digest is of the file, which holds the
 * secret label key. */
struct record_inputs {
	char config_sha256[DIGEST_TEXT_SIZE];
	char profile_sha256[DIGEST_TEXT_SIZE];
	int64_t issued_at_unix, expires_at_unix;
};

/* All of the profile's and site's, in this order: trusted_tcp and trusted_dns as
 * in the profile, router, proxy. */
struct record_endpoint {
	int role; /* enum endpoint_role */
	char endpoint_sha256[DIGEST_TEXT_SIZE];
};

struct record_binding {
	char worker_cgroup[RECORD_CGROUP_SIZE]; /* as site_worker_cgroup() */
	char nft_table[RECORD_TEXT_SIZE];
	char scoped_ruleset_sha256[DIGEST_TEXT_SIZE]; /* normalized entries */
	char deny_ruleset_sha256[DIGEST_TEXT_SIZE];
	char scoped_kernel_sha256[DIGEST_TEXT_SIZE]; /* kernel form */
	char deny_kernel_sha256[DIGEST_TEXT_SIZE];
	char foreign_sha256[DIGEST_TEXT_SIZE];
	int64_t scoped_output_rules, scoped_input_rules;
	char worker_unit_sha256[DIGEST_TEXT_SIZE];
	char refusing_proxy_unit[UNIT_NAME_SIZE];
	char refusing_proxy_sha256[DIGEST_TEXT_SIZE]; /* the running program's */
};

struct record_range {
	int64_t start, count;
};

/* SPEC 7.1, as found before anything was started. */
struct record_preconditions {
	int64_t checked_at_unix;
	char daemon_sha256[DIGEST_TEXT_SIZE];
	char worker_active_state[UNIT_STATE_SIZE];
	char guard_active_state[UNIT_STATE_SIZE];
	char proxy_active_state[UNIT_STATE_SIZE];
	char guard_ruleset_sha256[DIGEST_TEXT_SIZE];
	char guard_kernel_sha256[DIGEST_TEXT_SIZE];
	char foreign_sha256[DIGEST_TEXT_SIZE];
	int64_t workload_uid;
	struct record_range subordinate_uids[RECORD_RANGES_MAX];
	size_t subordinate_uid_count;
	int64_t containers, job_networks;
	int64_t foreign_sockets; /* of the subjects' processes, another uid's */
};

enum comparison_cause {
	COMPARISON_BEGIN, /* the first of its phase */
	COMPARISON_MOVED, /* the generation had moved, not by us */
	COMPARISON_END,   /* the last of its phase */
};

extern const char *const comparison_cause_names[];

enum ruleset_state {
	RULESET_SCOPED,  /* the compiled policy, its timed elements there */
	RULESET_EXPIRED, /* the compiled policy, no timed element left */
	RULESET_DENY,    /* the deny guard and nothing more */
};

extern const char *const ruleset_state_names[];

/* One comparison of the table with what it must be. */
struct record_comparison {
	int cause; /* enum comparison_cause */
	int64_t at_unix;
	int64_t generation; /* the kernel's, before and after the dump */
	int state;          /* enum ruleset_state: what it was equal to */
	char ruleset_sha256[DIGEST_TEXT_SIZE];
	char kernel_sha256[DIGEST_TEXT_SIZE];
	char foreign_sha256[DIGEST_TEXT_SIZE];
	int64_t timed_elements; /* in the timed sets */
};

enum agent_program { AGENT_PROGRAM_NET_AGENT, AGENT_PROGRAM_NET_ONCE };

extern const char *const agent_program_names[];

/* An agent, measured from outside (SPEC 7.2). For net-once the first digest is
 * from before the gate, the second from when it had reported. */
struct record_agent {
	int position;                         /* enum position */
	int program;                          /* enum agent_program */
	int64_t pid;                          /* in the host's pid namespace */
	char before_sha256[DIGEST_TEXT_SIZE]; /* before its hello */
	char after_sha256[DIGEST_TEXT_SIZE];  /* after it */
	char end_sha256[DIGEST_TEXT_SIZE];    /* when the phase ended */
	int64_t uid, gid;                     /* on the host */
	char cgroup[RECORD_CGROUP_SIZE]; /* without a leading slash; "" is the root */
	bool no_new_privs;
	int64_t seccomp;      /* of /proc/PID/status: 2 is a filter */
	int64_t capabilities; /* bits set in CapEff, CapPrm, CapInh, CapAmb together */
};

struct record_probe {
	char id[CATALOG_ID_SIZE];
	bool has_endpoint;
	char endpoint_sha256[DIGEST_TEXT_SIZE];
	int expect;   /* enum expectation */
	int observed; /* enum observed */
	bool matched;
	int basis; /* enum basis */
	struct evidence evidence;
	bool conclusive;
};

struct record_phase {
	int phase; /* enum phase_name */
	int64_t started_at_unix, completed_at_unix;
	struct record_comparison comparisons[RECORD_COMPARISONS_MAX];
	size_t comparison_count;
	struct record_agent agents[RECORD_AGENTS_MAX];
	size_t agent_count;
	struct record_probe probes[RECORD_PROBES_MAX];
	size_t probe_count;
};

/* What is left after SPEC 7.5; all well is: counts 0, worker inactive, guard. */
struct record_residue {
	int64_t measured_at_unix;
	int64_t containers, networks, processes, files;
	char worker_active_state[UNIT_STATE_SIZE];
	char guard_ruleset_sha256[DIGEST_TEXT_SIZE];
	char guard_kernel_sha256[DIGEST_TEXT_SIZE];
	char foreign_sha256[DIGEST_TEXT_SIZE];
	char daemon_sha256[DIGEST_TEXT_SIZE];
	char boot_id[HOST_BOOT_ID_SIZE];
};

/* About 250 KiB: allocate it with calloc(). */
struct record {
	int kind; /* enum record_kind */
	char coverage[RECORD_TEXT_SIZE];
	char not_covered[RECORD_NOT_COVERED_MAX][RECORD_TEXT_SIZE];
	size_t not_covered_count;
	char catalog_sha256[DIGEST_TEXT_SIZE];
	char site_sha256[DIGEST_TEXT_SIZE];
	struct host host;
	struct record_release release;
	struct record_tools tools;
	char pre_collection_preflight_sha256[DIGEST_TEXT_SIZE];
	struct record_inputs inputs;
	struct record_endpoint endpoints[RECORD_ENDPOINTS_MAX];
	size_t endpoint_count;
	bool has_network_binding;
	struct record_binding network_binding;
	struct record_preconditions preconditions;
	struct record_phase phases[PHASE_COUNT];
	size_t phase_count;
	struct record_residue residue;
	int64_t started_at_unix, completed_at_unix;
};

/* What SPEC 8 says of every record: "same_boot", and the list of what it does not
 * cover, `router_kernel_enforcement` among it for a router in the engine's
 * namespace. */
void record_set_coverage(struct record *record, bool is_router_in_engine);

/* Decodes a kept record: its form alone. `name` is for messages. */
int record_parse(const void *data, size_t size, const char *name,
		 struct record *ret_record, struct diag *diag);

/* The bytes to keep, at most RECORD_LIMIT. */
int record_write(const struct record *record, struct bytes *ret_bytes, struct diag *diag);

/* Fills `matched`, `basis` and `conclusive` of a probe whose other members are
 * set, by the catalog's entry for its id. */
void record_judge_probe(struct record_probe *probe, const struct catalog_probe *entry);

/* How many probes there are, and how many both matched and are conclusive. */
void record_count_probes(const struct record *record, size_t *ret_all, size_t *ret_good);

#endif
