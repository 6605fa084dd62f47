// SPDX-License-Identifier: GPL-2.0-or-later
// What can be wrong with a record: the catalogue of codes, and a list of findings.
#include "verifier/finding.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/own.h"

#define REFUSED FINDING_REFUSED
#define AGAIN "collect again on the host"
#define COPY "fetch the object from where it was collected; do not repair it"
#define PIN "give the file that was in force when the record was collected"
#define FORGED "do not trust this record: its numbers and its conclusions disagree"

const struct finding_kind finding_kinds[FINDING_CODE_COUNT] = {
	[FINDING_RECORD_OBJECT] = {"record-object", REFUSED,
				   "the record is not a sound object of the store", COPY},
	[FINDING_RECORD_FORM] = {"record-form", REFUSED,
				 "the record is not of its format", COPY},
	[FINDING_PRE_OBJECT] = {"pre-object", REFUSED,
				"the preflight before is not a sound object of the store",
				COPY},
	[FINDING_PRE_FORM] = {"pre-form", REFUSED,
			      "the preflight before is not of its format", COPY},
	[FINDING_POST_OBJECT] = {"post-object", REFUSED,
				 "the preflight after is not a sound object of the store",
				 COPY},
	[FINDING_POST_FORM] = {"post-form", REFUSED,
			       "the preflight after is not of its format", COPY},
	[FINDING_POST_IS_PRE] =
		{"post-is-pre", REFUSED, "the preflight after is the one before",
		 "run net-preflight after the collection and give that one"},
	[FINDING_PROFILE_FILE] = {"profile-file", REFUSED, "the profile cannot be used",
				  PIN},
	[FINDING_SITE_FILE] = {"site-file", REFUSED, "the site cannot be used", PIN},
	[FINDING_RELEASE_FILE] = {"release-file", REFUSED, "the release cannot be used",
				  PIN},
	[FINDING_KIND] = {"kind", REFUSED, "a kind of record that is not implemented",
			  "give a record of kind network_enforcement"},
	[FINDING_BINDING_MISSING] = {"binding-missing", REFUSED,
				     "no network binding in a network record", AGAIN},
	[FINDING_BINDING_UNEXPECTED] = {"binding-unexpected", REFUSED,
					"a network binding in a record of another kind",
					AGAIN},
	[FINDING_COVERAGE] = {"coverage", REFUSED,
			      "another coverage than a collection has", AGAIN},
	[FINDING_NOT_COVERED] = {"not-covered", REFUSED,
				 "another list of what is not covered", AGAIN},
	[FINDING_CATALOG] = {"catalog", REFUSED, "another catalog of probes",
			     "use the net-verify of the release that collected"},
	[FINDING_SITE] = {"site", REFUSED, "another site", PIN},
	[FINDING_MACHINE] = {"machine", REFUSED, "another machine",
			     "give the preflights of the machine that was collected"},
	[FINDING_BOOT] = {"boot", REFUSED, "another boot",
			  "collect, and run both preflights, in one boot"},
	[FINDING_KERNEL] = {"kernel", REFUSED, "another kernel",
			    "collect, and run both preflights, on one kernel"},
	[FINDING_RELEASE] = {"release", REFUSED, "another release", PIN},
	[FINDING_RUNNER] = {"runner", REFUSED, "another probe runner than the release's",
			    PIN},
	[FINDING_TARGETS] = {"targets", REFUSED, "other targets than the release's", PIN},
	[FINDING_IMAGE] = {"image", REFUSED, "another image than the release's", PIN},
	[FINDING_COLLECTOR] = {"collector", REFUSED,
			       "another collector than the release's", PIN},
	[FINDING_PROGRAMS] = {"programs", REFUSED,
			      "installed programs that are not the release's", PIN},
	[FINDING_PROFILE] = {"profile", REFUSED, "another profile", PIN},
	[FINDING_PROFILE_TIMES] = {"profile-times", REFUSED,
				   "other times than the profile's", FORGED},
	[FINDING_CANDIDATES] = {"candidates", REFUSED,
				"a profile that lets candidates reach other than the "
				"site's router and proxy",
				"issue a profile for this site and collect again"},
	[FINDING_WINDOW] = {"window", REFUSED,
			    "a window that a collection would have refused",
			    "issue a profile of 20 to 280 s and collect within 60 s"},
	[FINDING_ENDPOINTS] = {"endpoints", REFUSED,
			       "other endpoints than the profile's and the site's", PIN},
	[FINDING_WORKER_CGROUP] = {"worker-cgroup", REFUSED,
				   "another cgroup than the worker unit's", PIN},
	[FINDING_NFT_TABLE] = {"nft-table", REFUSED, "another table than the site's",
			       PIN},
	[FINDING_SCOPED_IS_DENY] = {"scoped-is-deny", REFUSED,
				    "the policy in force and the guard are the same",
				    FORGED},
	[FINDING_RULE_COUNT] = {"rule-count", REFUSED,
				"another number of rules than the profile compiles to",
				FORGED},
	[FINDING_GUARD] = {"guard", REFUSED, "another deny guard than the preflight's",
			   AGAIN},
	[FINDING_FOREIGN] = {"foreign", REFUSED,
			     "the rest of the host's rules changed meanwhile", AGAIN},
	[FINDING_SEMANTIC] = {"semantic", REFUSED,
			      "the table is not what it was before the collection",
			      AGAIN},
	[FINDING_WORKER_UNIT] = {"worker-unit", REFUSED,
				 "a unit with another name or other properties", AGAIN},
	[FINDING_UNIT_STATE] = {"unit-state", REFUSED,
				"a unit in another state than while nothing runs",
				"stop the worker, see that guard, proxy and engine run, "
				"and collect again"},
	[FINDING_PROXY_UNIT] = {"proxy-unit", REFUSED,
				"another refusing proxy unit than the site's", PIN},
	[FINDING_PROXY_PROGRAM] = {"proxy-program", REFUSED,
				   "another refusing proxy than the release's", PIN},
	[FINDING_DAEMON] = {"daemon", REFUSED, "another container engine", AGAIN},
	[FINDING_PRECONDITION] = {"precondition", REFUSED,
				  "a state from which no collection starts", AGAIN},
	[FINDING_SUBJECTS] = {"subjects", REFUSED,
			      "subjects that cannot be a workload user's", AGAIN},
	[FINDING_PHASE_ORDER] = {"phase-order", REFUSED,
				 "not the four phases in their order", FORGED},
	[FINDING_PHASE_OVERLAP] = {"phase-overlap", REFUSED,
				   "phases that overlap, or end before they begin",
				   FORGED},
	[FINDING_EXPIRY_EARLY] = {"expiry-early", REFUSED,
				  "a phase on the wrong side of the window's end",
				  FORGED},
	[FINDING_TIME_ORDER] = {"time-order", REFUSED,
				"times that are not in the order of what happened",
				FORGED},
	[FINDING_PREFLIGHT_AGE] = {"preflight-age", REFUSED,
				   "a preflight of more than 900 s before the start",
				   AGAIN},
	[FINDING_TOO_LONG] = {"too-long", REFUSED,
			      "more than six hours between the preflights", AGAIN},
	[FINDING_COMPARISON_MISSING] = {"comparison-missing", REFUSED,
					"the ruleset was not compared at a phase's begin "
					"and end",
					FORGED},
	[FINDING_COMPARISON_STATE] = {"comparison-state", REFUSED,
				      "a ruleset in another state than its phase's",
				      FORGED},
	[FINDING_COMPARISON_DIGEST] = {"comparison-digest", REFUSED,
				       "a ruleset that is not the one bound", FORGED},
	[FINDING_COMPARISON_TIME] = {"comparison-time", REFUSED,
				     "a comparison out of its phase or order", FORGED},
	[FINDING_TIMED_ELEMENTS] = {"timed-elements", REFUSED,
				    "another number of timed elements than the state has",
				    FORGED},
	[FINDING_AGENT_MISSING] = {"agent-missing", REFUSED,
				   "a position without exactly one measured agent",
				   FORGED},
	[FINDING_AGENT_ORDER] = {"agent-order", REFUSED,
				 "agents in another order than the positions'", FORGED},
	[FINDING_AGENT_REPLACED] = {"agent-replaced", REFUSED,
				    "another agent than in the first phase", FORGED},
	[FINDING_AGENT_PROGRAM] = {"agent-program", REFUSED,
				   "another program than the position's", FORGED},
	[FINDING_AGENT_DIGEST] = {"agent-digest", REFUSED,
				  "an agent that was not the release's probe runner",
				  "do not trust this host until it is known why"},
	[FINDING_AGENT_CONFINEMENT] = {"agent-confinement", REFUSED,
				       "an agent that was not confined", FORGED},
	[FINDING_AGENT_IDS] = {"agent-ids", REFUSED,
			       "an agent under other ids than its position's", FORGED},
	[FINDING_AGENT_CGROUP] = {"agent-cgroup", REFUSED,
				  "an agent in another cgroup than its position's",
				  FORGED},
	[FINDING_PROBE_MISSING] = {"probe-missing", REFUSED, "a probe is missing",
				   FORGED},
	[FINDING_PROBE_ADDED] = {"probe-added", REFUSED,
				 "a probe that the catalog does not have here", FORGED},
	[FINDING_PROBE_REPEATED] = {"probe-repeated", REFUSED,
				    "a probe more often than the profile has endpoints",
				    FORGED},
	[FINDING_PROBE_ORDER] = {"probe-order", REFUSED,
				 "probes in another order than the catalog's", FORGED},
	[FINDING_PROBE_EXPECT] = {"probe-expect", REFUSED,
				  "another expectation than the catalog's", FORGED},
	[FINDING_PROBE_ENDPOINT] = {"probe-endpoint", REFUSED,
				    "another endpoint than the profile's", FORGED},
	[FINDING_PROBE_TIME] = {"probe-time", REFUSED, "a probe out of its phase",
				FORGED},
	[FINDING_PROBE_EVIDENCE] = {"probe-evidence", REFUSED,
				    "evidence that is not of this probe", FORGED},
	[FINDING_PROBE_MATCHED] = {"probe-matched", REFUSED,
				   "\"matched\" is not what the observation says",
				   FORGED},
	[FINDING_PROBE_BASIS] = {"probe-basis", REFUSED,
				 "\"basis\" is not what the numbers bear", FORGED},
	[FINDING_PROBE_CONCLUSIVE] = {"probe-conclusive", REFUSED,
				      "\"conclusive\" is not what the numbers bear",
				      FORGED},
	[FINDING_RESIDUE] = {"residue", REFUSED,
			     "something was left on the host after the collection",
			     "run net-collector recover on the host and collect again"},
	[FINDING_PROBE_UNMATCHED] = {"probe-unmatched", FINDING_UNMATCHED,
				     "the host does not do what it must",
				     "do not run untrusted code on this host"},
	[FINDING_PROBE_INCONCLUSIVE] = {"probe-inconclusive", FINDING_INCONCLUSIVE,
					"nothing shows that the policy was the cause",
					"find out what else denied, and collect again"},
};

void findings_release(struct findings *findings)
{
	free(findings->items);
	*findings = (struct findings){0};
}

void findings_add(struct findings *findings, enum finding_code code, const char *document,
		  const char *pointer, const char *expected, const char *found)
{
	struct finding *item, *grown;

	if (findings->count == findings->room) {
		size_t room = findings->room ? 2 * findings->room : 16;

		grown = reallocarray(findings->items, room, sizeof(*grown));
		if (!grown) {
			findings->is_short = true;
			return;
		}
		findings->items = grown;
		findings->room = room;
	}
	item = &findings->items[findings->count++];
	*item = (struct finding){.code = code, .document = document};
	snprintf(item->pointer, sizeof(item->pointer), "%s", pointer);
	snprintf(item->expected, sizeof(item->expected), "%s", expected);
	snprintf(item->found, sizeof(item->found), "%s", found);
}

/* A check makes a spot for each thing it looks at and needs the text of hardly any:
 * here the arguments are kept, no more. */
struct spot spot_at(const char *document, const char *format, ...)
{
	struct spot spot = {.document = document, .format = format};
	size_t number = 0;
	va_list arguments;

	va_start(arguments, format);
	for (const char *at = strchr(format, '%'); at; at = strchr(at + 1, '%')) {
		if (at[1] == 's') {
			spot.text = va_arg(arguments, const char *);
		} else {
			assert(at[1] == 'z' && number < ARRAY_SIZE(spot.numbers));
			spot.numbers[number++] = va_arg(arguments, size_t);
		}
	}
	va_end(arguments);
	return spot;
}

static void write_pointer(const struct spot *spot, char ret_pointer[FINDING_POINTER_SIZE])
{
	size_t number = 0, used = 0;

	ret_pointer[0] = '\0';
	for (const char *at = spot->format; *at && used < FINDING_POINTER_SIZE - 1;) {
		char *to = ret_pointer + used;
		size_t room = FINDING_POINTER_SIZE - used;
		size_t plain = strcspn(at, "%");

		if (plain) {
			snprintf(to, room, "%.*s", (int)plain, at);
			at += plain;
		} else if (at[1] == 's') {
			snprintf(to, room, "%s", spot->text);
			at += sizeof("%s") - 1;
		} else {
			snprintf(to, room, "%zu", spot->numbers[number++]);
			at += sizeof("%zu") - 1;
		}
		used += strlen(to);
	}
}

bool findings_true(struct findings *findings, enum finding_code code, struct spot spot,
		   bool is_right, const char *expected, const char *found)
{
	char pointer[FINDING_POINTER_SIZE];

	if (is_right)
		return true;
	write_pointer(&spot, pointer);
	findings_add(findings, code, spot.document, pointer, expected, found);
	return false;
}

bool findings_text(struct findings *findings, enum finding_code code, struct spot spot,
		   const char *expected, const char *found)
{
	return findings_true(findings, code, spot, strcmp(expected, found) == 0, expected,
			     found);
}

bool findings_number(struct findings *findings, enum finding_code code, struct spot spot,
		     int64_t expected, int64_t found)
{
	return findings_range(findings, code, spot, expected, expected, found);
}

bool findings_range(struct findings *findings, enum finding_code code, struct spot spot,
		    int64_t from, int64_t to, int64_t found)
{
	char wanted[64], got[32];

	if (from <= found && found <= to)
		return true;
	if (from == to)
		snprintf(wanted, sizeof(wanted), "%" PRId64, from);
	else if (to == INT64_MAX)
		snprintf(wanted, sizeof(wanted), "at least %" PRId64, from);
	else
		snprintf(wanted, sizeof(wanted), "%" PRId64 " to %" PRId64, from, to);
	snprintf(got, sizeof(got), "%" PRId64, found);
	return findings_true(findings, code, spot, false, wanted, got);
}
