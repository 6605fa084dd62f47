/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an observation means: does it match, and is it conclusive (SPEC 7.3, 7.4). */
#ifndef POLICY_VERDICT_H
#define POLICY_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/digest.h"
#include "common/json_table.h"

/*
 * Theory of operation
 *
 * The collector writes down numbers, and with them what it concludes; the
 * verifier concludes again from the numbers alone. Both call the two functions
 * below, which look at nothing but their arguments: a record that says more than
 * its numbers do is refused.
 *
 * A denial is conclusive only with a basis that excludes the other causes of a
 * failed attempt. A positive observation (a connection, a completed handshake)
 * has no other cause; its basis is `outcome`. So is a leak's: it is as definite.
 * docs/formats/record.md says the same for people.
 */

/* What a probe showed: the agent's outcomes (SPEC 4.2), then what the collector
 * reads itself. */
enum observed {
	OBSERVED_CONNECTED,
	OBSERVED_ACCEPTED,
	OBSERVED_HANDSHAKE_COMPLETED,
	OBSERVED_HANDSHAKE_FAILED,
	OBSERVED_PROXY_REFUSED,
	OBSERVED_PROXY_FORWARDED,
	OBSERVED_CLOSED,
	OBSERVED_REFUSED,
	OBSERVED_RESET,
	OBSERVED_TIMEOUT,
	OBSERVED_UNREACHABLE,
	OBSERVED_NOT_PERMITTED,
	OBSERVED_PROBE_ERROR,
	OBSERVED_CONTAINER_ADDRESS, /* the listener saw the container's own */
	OBSERVED_HOST_ADDRESS,
	OBSERVED_OTHER_ADDRESS,
	OBSERVED_IDENTITY_EXACT,
	OBSERVED_IDENTITY_DIFFERENT,
	OBSERVED_ONLY_LOOPBACK,
	OBSERVED_OTHER_INTERFACES,
	OBSERVED_COUNT,
};

/* What a probe must show. */
enum expectation {
	EXPECT_CONNECTED,
	EXPECT_HANDSHAKE_COMPLETED,
	EXPECT_PROXY_REFUSED,
	EXPECT_CONTAINER_ADDRESS,
	EXPECT_IDENTITY_EXACT,
	EXPECT_ONLY_LOOPBACK,
	EXPECT_DENIED, /* not_permitted refused reset timeout unreachable */
	EXPECT_CUT,    /* closed not_permitted reset timeout unreachable */
	EXPECT_COUNT,
};

/* What makes a probe conclusive. */
enum basis {
	BASIS_NONE,
	BASIS_OUTCOME, /* the observation itself: it has no other cause */
	BASIS_CONTROL,
	BASIS_DENY_COUNTER,
	BASIS_LISTENER,
	BASIS_LISTENER_GONE,
	BASIS_NO_ROUTE,
	BASIS_REFUSAL,
	BASIS_COUNT,
};

enum ip_family { IP_FAMILY_IPV4, IP_FAMILY_IPV6 };

/* The names, in the enums' order, each list ending with NULL. */
extern const char *const observed_names[];
extern const char *const expectation_names[];
extern const char *const basis_names[];
extern const char *const ip_family_names[];

/* Another attempt that the probe's meaning rests on. */
struct exchange {
	int outcome; /* enum observed */
	int64_t elapsed_us;
	int64_t at_unix; /* when it was answered */
};

/* The same attempt by the control agent, outside the policy. Of a `check`, `held`:
 * a flow to the same target that the control agent established at the same time
 * and kept. Such a flow is reported as `connected` at its deadline, so how long that
 * took says nothing. */
struct evidence_control {
	bool held;
	struct exchange before, after;
};

/* Packets that the kernel's deny rules counted for the subjects, read just before
 * and just after, and how many probes were in flight then, this one included. */
struct evidence_deny_counter {
	int64_t packets_before, packets_after;
	int64_t in_flight;
};

/* A listener of ours outside the position. It was reached by one that may, just
 * before and just after; `accepted` is all it accepted from the first of those
 * to the last, the probe's time included. The position reached something else
 * that it may, before and after. */
struct evidence_listener {
	int64_t reached_before, reached_after, accepted;
	struct exchange alive_before, alive_after;
};

/* A listener of ours that the position's kind reached before; the sockets that
 * listen on its address and port now, read from outside. */
struct evidence_listener_gone {
	int64_t reached_before, listening_now;
};

/* Routes in the position's namespace that lead to the target's address (a default
 * route does; an `unreachable` or `blackhole` one does not), read from outside. */
struct evidence_no_route {
	int family; /* enum ip_family */
	bool supported;
	int64_t routes;
};

/* The executable of the site's service that answered, measured as it ran. */
struct evidence_refusal {
	char service_sha256[DIGEST_TEXT_SIZE];
};

/* Ids read from outside, and what they must be. */
struct evidence_identity {
	int64_t uid, gid, expected_uid, expected_gid;
};

/* Interfaces of the position's namespace, read from outside. */
struct evidence_interfaces {
	int64_t loopback, others;
};

/* The numbers that a probe rests on. More than the basis needs may be there. */
struct evidence {
	int64_t elapsed_us; /* the probe's own */
	int64_t at_unix;    /* when it was answered */
	bool has_control, has_deny_counter, has_listener, has_listener_gone;
	bool has_no_route, has_refusal, has_identity, has_interfaces;
	struct evidence_control control;
	struct evidence_deny_counter deny_counter;
	struct evidence_listener listener;
	struct evidence_listener_gone listener_gone;
	struct evidence_no_route no_route;
	struct evidence_refusal refusal;
	struct evidence_identity identity;
	struct evidence_interfaces interfaces;
};

extern const struct json_table evidence_table;

/* A control this much later or earlier says nothing of the probe's moment. */
#define VERDICT_CONTROL_SECONDS 60
/* A probe that timed out must have waited this many times as long as its controls
 * took (held ones apart): else a starved processor may have been the cause. */
#define VERDICT_CONTROL_FACTOR 2

/* Whether what was observed is what was expected. */
bool verdict_matched(enum expectation expected, enum observed observed);

/* Whether the numbers exclude every cause of `observed` but the one that `basis`
 * names. Always false for BASIS_NONE and for OBSERVED_PROBE_ERROR. */
bool verdict_conclusive(enum basis basis, const struct evidence *evidence,
			enum observed observed);

/* The first basis, in the order of enum basis, of which verdict_conclusive()
 * holds and which is in `allowed` (bits 1 << enum basis); else BASIS_NONE. */
enum basis verdict_basis(unsigned int allowed, const struct evidence *evidence,
			 enum observed observed);

/* Whether `observed` is a fact that only something reached can show. */
bool verdict_is_reached(enum observed observed);

/* Whether the probe got where it must not: past a denial, through the proxy that must
 * refuse, or along a flow that must be cut. Nothing that comes later undoes it. */
bool verdict_is_leak(enum expectation expected, enum observed observed);

#endif
