/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be wrong with a record: the catalogue of codes, and a list of findings. */
#ifndef VERIFIER_FINDING_H
#define VERIFIER_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stable: a code, once released, keeps its name and meaning. The names are those
 * of finding_kinds[] in finding.c, in this order. */
enum finding_code {
	FINDING_RECORD_OBJECT,
	FINDING_RECORD_FORM,
	FINDING_PRE_OBJECT,
	FINDING_PRE_FORM,
	FINDING_POST_OBJECT,
	FINDING_POST_FORM,
	FINDING_POST_IS_PRE,
	FINDING_PROFILE_FILE,
	FINDING_SITE_FILE,
	FINDING_RELEASE_FILE,
	FINDING_KIND,
	FINDING_BINDING_MISSING,
	FINDING_BINDING_UNEXPECTED,
	FINDING_COVERAGE,
	FINDING_NOT_COVERED,
	FINDING_CATALOG,
	FINDING_SITE,
	FINDING_MACHINE,
	FINDING_BOOT,
	FINDING_KERNEL,
	FINDING_RELEASE,
	FINDING_RUNNER,
	FINDING_TARGETS,
	FINDING_IMAGE,
	FINDING_COLLECTOR,
	FINDING_PROGRAMS,
	FINDING_PROFILE,
	FINDING_PROFILE_TIMES,
	FINDING_CANDIDATES,
	FINDING_WINDOW,
	FINDING_ENDPOINTS,
	FINDING_WORKER_CGROUP,
	FINDING_NFT_TABLE,
	FINDING_SCOPED_IS_DENY,
	FINDING_RULE_COUNT,
	FINDING_GUARD,
	FINDING_FOREIGN,
	FINDING_SEMANTIC,
	FINDING_WORKER_UNIT,
	FINDING_UNIT_STATE,
	FINDING_PROXY_UNIT,
	FINDING_PROXY_PROGRAM,
	FINDING_DAEMON,
	FINDING_PRECONDITION,
	FINDING_SUBJECTS,
	FINDING_PHASE_ORDER,
	FINDING_PHASE_OVERLAP,
	FINDING_EXPIRY_EARLY,
	FINDING_TIME_ORDER,
	FINDING_PREFLIGHT_AGE,
	FINDING_TOO_LONG,
	FINDING_COMPARISON_MISSING,
	FINDING_COMPARISON_STATE,
	FINDING_COMPARISON_DIGEST,
	FINDING_COMPARISON_TIME,
	FINDING_TIMED_ELEMENTS,
	FINDING_AGENT_MISSING,
	FINDING_AGENT_ORDER,
	FINDING_AGENT_REPLACED,
	FINDING_AGENT_PROGRAM,
	FINDING_AGENT_DIGEST,
	FINDING_AGENT_CONFINEMENT,
	FINDING_AGENT_IDS,
	FINDING_AGENT_CGROUP,
	FINDING_PROBE_MISSING,
	FINDING_PROBE_ADDED,
	FINDING_PROBE_REPEATED,
	FINDING_PROBE_ORDER,
	FINDING_PROBE_EXPECT,
	FINDING_PROBE_ENDPOINT,
	FINDING_PROBE_TIME,
	FINDING_PROBE_EVIDENCE,
	FINDING_PROBE_MATCHED,
	FINDING_PROBE_BASIS,
	FINDING_PROBE_CONCLUSIVE,
	FINDING_RESIDUE,
	FINDING_PROBE_UNMATCHED,
	FINDING_PROBE_INCONCLUSIVE,
	FINDING_CODE_COUNT,
};

/* A record that is false is refused. One that is true, and says that the host does
 * not do as it should or that it could not be shown, is not verified either, but
 * for its own reason. */
enum finding_class {
	FINDING_REFUSED,      /* exit status 1 */
	FINDING_UNMATCHED,    /* exit status 3 */
	FINDING_INCONCLUSIVE, /* exit status 3 */
};

struct finding_kind {
	const char *name; /* "post-guard" */
	enum finding_class class;
	const char *title; /* what it means, one line */
	const char *next;  /* one thing to do next */
};

extern const struct finding_kind finding_kinds[FINDING_CODE_COUNT];

#define FINDING_DOCUMENT_SIZE 24
#define FINDING_POINTER_SIZE 160
#define FINDING_TEXT_SIZE 256

struct finding {
	enum finding_code code;
	const char *document;               /* "record", "post", "profile", ... */
	char pointer[FINDING_POINTER_SIZE]; /* RFC 6901, in that document */
	char expected[FINDING_TEXT_SIZE];
	char found[FINDING_TEXT_SIZE];
};

/* Starts as all zero; released with findings_release(). */
struct findings {
	struct finding *items;
	size_t count, room;
	bool is_short; /* memory ended: a finding is missing */
};

void findings_release(struct findings *findings);

/* Adds a finding. A list that cannot grow remembers it: it is never taken for an
 * empty one. */
void findings_add(struct findings *findings, enum finding_code code, const char *document,
		  const char *pointer, const char *expected, const char *found);

/* Where a check looks: a document and a pointer in it, which is written out only
 * for a finding. Its format knows %zu (at most two) and %s (at most one); the text
 * must live as long as the spot. */
struct spot {
	const char *document, *format;
	size_t numbers[2];
	const char *text;
};

struct spot spot_at(const char *document, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Each adds a finding unless what was found is what was expected; they return
 * whether it is. */
bool findings_text(struct findings *findings, enum finding_code code, struct spot spot,
		   const char *expected, const char *found);
bool findings_number(struct findings *findings, enum finding_code code, struct spot spot,
		     int64_t expected, int64_t found);
bool findings_true(struct findings *findings, enum finding_code code, struct spot spot,
		   bool is_right, const char *expected, const char *found);
/* `from` <= `found` <= `to`. */
bool findings_range(struct findings *findings, enum finding_code code, struct spot spot,
		    int64_t from, int64_t to, int64_t found);

#endif
