// SPDX-License-Identifier: GPL-2.0-or-later
// What an observation means: does it match, and is it conclusive (SPEC 7.3, 7.4).
#include "policy/verdict.h"

#include "common/canonical.h"

#define COUNT_MAX CANONICAL_KEPT_MAX
#define ID_MAX 4294967295 /* uid_t and gid_t */

const char *const observed_names[] = {
	[OBSERVED_CONNECTED] = "connected",
	[OBSERVED_ACCEPTED] = "accepted",
	[OBSERVED_HANDSHAKE_COMPLETED] = "handshake_completed",
	[OBSERVED_HANDSHAKE_FAILED] = "handshake_failed",
	[OBSERVED_PROXY_REFUSED] = "proxy_refused",
	[OBSERVED_PROXY_FORWARDED] = "proxy_forwarded",
	[OBSERVED_CLOSED] = "closed",
	[OBSERVED_REFUSED] = "refused",
	[OBSERVED_RESET] = "reset",
	[OBSERVED_TIMEOUT] = "timeout",
	[OBSERVED_UNREACHABLE] = "unreachable",
	[OBSERVED_NOT_PERMITTED] = "not_permitted",
	[OBSERVED_PROBE_ERROR] = "probe_error",
	[OBSERVED_CONTAINER_ADDRESS] = "container_address",
	[OBSERVED_HOST_ADDRESS] = "host_address",
	[OBSERVED_OTHER_ADDRESS] = "other_address",
	[OBSERVED_IDENTITY_EXACT] = "identity_exact",
	[OBSERVED_IDENTITY_DIFFERENT] = "identity_different",
	[OBSERVED_ONLY_LOOPBACK] = "only_loopback",
	[OBSERVED_OTHER_INTERFACES] = "other_interfaces",
	[OBSERVED_COUNT] = NULL,
};

const char *const expectation_names[] = {
	[EXPECT_CONNECTED] = "connected",
	[EXPECT_HANDSHAKE_COMPLETED] = "handshake_completed",
	[EXPECT_PROXY_REFUSED] = "proxy_refused",
	[EXPECT_CONTAINER_ADDRESS] = "container_address",
	[EXPECT_IDENTITY_EXACT] = "identity_exact",
	[EXPECT_ONLY_LOOPBACK] = "only_loopback",
	[EXPECT_DENIED] = "denied",
	[EXPECT_CUT] = "cut",
	[EXPECT_COUNT] = NULL,
};

const char *const basis_names[] = {
	[BASIS_NONE] = "none",         [BASIS_OUTCOME] = "outcome",
	[BASIS_CONTROL] = "control",   [BASIS_DENY_COUNTER] = "deny_counter",
	[BASIS_LISTENER] = "listener", [BASIS_LISTENER_GONE] = "listener_gone",
	[BASIS_NO_ROUTE] = "no_route", [BASIS_REFUSAL] = "refusal",
	[BASIS_COUNT] = NULL,
};

const char *const ip_family_names[] = {
	[IP_FAMILY_IPV4] = "ipv4",
	[IP_FAMILY_IPV6] = "ipv6",
	NULL,
};

static const struct json_field exchange_fields[] = {
	{JSON_CHOICE(struct exchange, outcome, observed_names)},
	{JSON_INTEGER(struct exchange, elapsed_us, 0, COUNT_MAX)},
	{JSON_INTEGER(struct exchange, at_unix, 0, COUNT_MAX)},
};

static const struct json_table exchange_table =
	JSON_TABLE(struct exchange, exchange_fields);

static const struct json_field control_fields[] = {
	{JSON_BOOLEAN(struct evidence_control, held)},
	{JSON_OBJECT(struct evidence_control, before, &exchange_table)},
	{JSON_OBJECT(struct evidence_control, after, &exchange_table)},
};

static const struct json_table control_table =
	JSON_TABLE(struct evidence_control, control_fields);

static const struct json_field deny_counter_fields[] = {
	{JSON_INTEGER(struct evidence_deny_counter, packets_before, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence_deny_counter, packets_after, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence_deny_counter, in_flight, 0, COUNT_MAX)},
};

static const struct json_table deny_counter_table =
	JSON_TABLE(struct evidence_deny_counter, deny_counter_fields);

static const struct json_field listener_fields[] = {
	{JSON_INTEGER(struct evidence_listener, reached_before, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence_listener, reached_after, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence_listener, accepted, 0, COUNT_MAX)},
	{JSON_OBJECT(struct evidence_listener, alive_before, &exchange_table)},
	{JSON_OBJECT(struct evidence_listener, alive_after, &exchange_table)},
};

static const struct json_table listener_table =
	JSON_TABLE(struct evidence_listener, listener_fields);

static const struct json_field listener_gone_fields[] = {
	{JSON_INTEGER(struct evidence_listener_gone, reached_before, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence_listener_gone, listening_now, 0, COUNT_MAX)},
};

static const struct json_table listener_gone_table =
	JSON_TABLE(struct evidence_listener_gone, listener_gone_fields);

static const struct json_field no_route_fields[] = {
	{JSON_CHOICE(struct evidence_no_route, family, ip_family_names)},
	{JSON_BOOLEAN(struct evidence_no_route, supported)},
	{JSON_INTEGER(struct evidence_no_route, routes, 0, COUNT_MAX)},
};

static const struct json_table no_route_table =
	JSON_TABLE(struct evidence_no_route, no_route_fields);

static const struct json_field refusal_fields[] = {
	{JSON_DIGEST(struct evidence_refusal, service_sha256)},
};

static const struct json_table refusal_table =
	JSON_TABLE(struct evidence_refusal, refusal_fields);

static const struct json_field identity_fields[] = {
	{JSON_INTEGER(struct evidence_identity, uid, 0, ID_MAX)},
	{JSON_INTEGER(struct evidence_identity, gid, 0, ID_MAX)},
	{JSON_INTEGER(struct evidence_identity, expected_uid, 0, ID_MAX)},
	{JSON_INTEGER(struct evidence_identity, expected_gid, 0, ID_MAX)},
};

static const struct json_table identity_table =
	JSON_TABLE(struct evidence_identity, identity_fields);

static const struct json_field interfaces_fields[] = {
	{JSON_INTEGER(struct evidence_interfaces, loopback, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence_interfaces, others, 0, COUNT_MAX)},
};

static const struct json_table interfaces_table =
	JSON_TABLE(struct evidence_interfaces, interfaces_fields);

/* A row for one basis' numbers, which may be absent. */
#define PART(member_)                                                                    \
	{                                                                                \
		JSON_OBJECT(struct evidence, member_, &member_##_table),                 \
			JSON_OPTIONAL(struct evidence, has_##member_)                    \
	}

static const struct json_field evidence_fields[] = {
	{JSON_INTEGER(struct evidence, elapsed_us, 0, COUNT_MAX)},
	{JSON_INTEGER(struct evidence, at_unix, 0, COUNT_MAX)},
	PART(control),
	PART(deny_counter),
	PART(listener),
	PART(listener_gone),
	PART(no_route),
	PART(refusal),
	PART(identity),
	PART(interfaces),
};

const struct json_table evidence_table = JSON_TABLE(struct evidence, evidence_fields);

static bool is_denied(enum observed observed)
{
	return observed == OBSERVED_NOT_PERMITTED || observed == OBSERVED_REFUSED ||
	       observed == OBSERVED_RESET || observed == OBSERVED_TIMEOUT ||
	       observed == OBSERVED_UNREACHABLE;
}

static bool is_cut(enum observed observed)
{
	return observed == OBSERVED_NOT_PERMITTED || observed == OBSERVED_CLOSED ||
	       observed == OBSERVED_RESET || observed == OBSERVED_TIMEOUT ||
	       observed == OBSERVED_UNREACHABLE;
}

bool verdict_matched(enum expectation expected, enum observed observed)
{
	switch (expected) {
	case EXPECT_CONNECTED:
		return observed == OBSERVED_CONNECTED;
	case EXPECT_HANDSHAKE_COMPLETED:
		return observed == OBSERVED_HANDSHAKE_COMPLETED;
	case EXPECT_PROXY_REFUSED:
		return observed == OBSERVED_PROXY_REFUSED;
	case EXPECT_CONTAINER_ADDRESS:
		return observed == OBSERVED_CONTAINER_ADDRESS;
	case EXPECT_IDENTITY_EXACT:
		return observed == OBSERVED_IDENTITY_EXACT;
	case EXPECT_ONLY_LOOPBACK:
		return observed == OBSERVED_ONLY_LOOPBACK;
	case EXPECT_DENIED:
		return is_denied(observed);
	case EXPECT_CUT:
		return is_cut(observed);
	case EXPECT_COUNT:
		break;
	}
	return false;
}

bool verdict_is_reached(enum observed observed)
{
	return observed == OBSERVED_CONNECTED || observed == OBSERVED_ACCEPTED ||
	       observed == OBSERVED_HANDSHAKE_COMPLETED ||
	       observed == OBSERVED_PROXY_FORWARDED;
}

bool verdict_is_leak(enum expectation expected, enum observed observed)
{
	switch (expected) {
	case EXPECT_DENIED:
	case EXPECT_CUT:
		return verdict_is_reached(observed);
	case EXPECT_PROXY_REFUSED:
		return observed == OBSERVED_PROXY_FORWARDED;
	case EXPECT_CONNECTED:
	case EXPECT_HANDSHAKE_COMPLETED:
	case EXPECT_CONTAINER_ADDRESS:
	case EXPECT_IDENTITY_EXACT:
	case EXPECT_ONLY_LOOPBACK:
	case EXPECT_COUNT:
		break;
	}
	return false;
}

static bool is_success(const struct exchange *exchange)
{
	return exchange->outcome == OBSERVED_CONNECTED ||
	       exchange->outcome == OBSERVED_HANDSHAKE_COMPLETED;
}

/* Whether the two exchanges lie around the probe, and close enough to it. */
static bool is_around(const struct exchange *before, const struct exchange *after,
		      const struct evidence *evidence)
{
	return before->at_unix <= evidence->at_unix &&
	       evidence->at_unix <= after->at_unix &&
	       after->at_unix - before->at_unix <= VERDICT_CONTROL_SECONDS;
}

/* An attempt that ended by itself was not starved; one that ran out of time may have
 * been, unless its controls were much faster. */
static bool is_fast_enough(const struct exchange *exchange,
			   const struct evidence *evidence, enum observed observed)
{
	return observed != OBSERVED_TIMEOUT || evidence->control.held ||
	       exchange->elapsed_us <= evidence->elapsed_us / VERDICT_CONTROL_FACTOR;
}

static bool is_outcome_conclusive(const struct evidence *evidence, enum observed observed)
{
	const struct evidence_identity *identity = &evidence->identity;
	const struct evidence_interfaces *interfaces = &evidence->interfaces;
	bool is_exact, is_alone;

	switch (observed) {
	case OBSERVED_IDENTITY_EXACT:
	case OBSERVED_IDENTITY_DIFFERENT:
		is_exact = identity->uid == identity->expected_uid &&
			   identity->gid == identity->expected_gid;
		return evidence->has_identity &&
		       is_exact == (observed == OBSERVED_IDENTITY_EXACT);
	case OBSERVED_ONLY_LOOPBACK:
	case OBSERVED_OTHER_INTERFACES:
		is_alone = interfaces->loopback == 1 && interfaces->others == 0;
		return evidence->has_interfaces &&
		       is_alone == (observed == OBSERVED_ONLY_LOOPBACK);
	case OBSERVED_CONTAINER_ADDRESS:
	case OBSERVED_HOST_ADDRESS:
	case OBSERVED_OTHER_ADDRESS:
		return true;
	default:
		return verdict_is_reached(observed);
	}
}

static bool is_control_conclusive(const struct evidence *evidence, enum observed observed)
{
	const struct exchange *before = &evidence->control.before;
	const struct exchange *after = &evidence->control.after;

	return evidence->has_control && is_success(before) && is_success(after) &&
	       is_around(before, after, evidence) &&
	       is_fast_enough(before, evidence, observed) &&
	       is_fast_enough(after, evidence, observed);
}

static bool is_counter_conclusive(const struct evidence *evidence)
{
	const struct evidence_deny_counter *counter = &evidence->deny_counter;

	return evidence->has_deny_counter && counter->in_flight == 1 &&
	       counter->packets_after > counter->packets_before;
}

static bool is_listener_conclusive(const struct evidence *evidence)
{
	const struct evidence_listener *listener = &evidence->listener;

	return evidence->has_listener && listener->reached_before > 0 &&
	       listener->reached_after > 0 &&
	       listener->accepted == listener->reached_before + listener->reached_after &&
	       is_success(&listener->alive_before) &&
	       is_success(&listener->alive_after) &&
	       is_around(&listener->alive_before, &listener->alive_after, evidence);
}

static bool is_gone_conclusive(const struct evidence *evidence)
{
	return evidence->has_listener_gone &&
	       evidence->listener_gone.reached_before > 0 &&
	       evidence->listener_gone.listening_now == 0;
}

static bool is_no_route_conclusive(const struct evidence *evidence,
				   enum observed observed)
{
	/* Without an IPv4 route nothing is tested at all: only IPv6, which many hosts
	 * do not have, is denied by its absence. */
	return evidence->has_no_route && observed == OBSERVED_UNREACHABLE &&
	       evidence->no_route.family == IP_FAMILY_IPV6 &&
	       (!evidence->no_route.supported || evidence->no_route.routes == 0);
}

bool verdict_conclusive(enum basis basis, const struct evidence *evidence,
			enum observed observed)
{
	bool is_denial = is_denied(observed) || is_cut(observed);

	switch (basis) {
	case BASIS_OUTCOME:
		return is_outcome_conclusive(evidence, observed);
	case BASIS_CONTROL:
		return is_denial && is_control_conclusive(evidence, observed);
	case BASIS_DENY_COUNTER:
		return is_denial && is_counter_conclusive(evidence);
	case BASIS_LISTENER:
		return is_denial && is_listener_conclusive(evidence);
	case BASIS_LISTENER_GONE:
		return is_denial && is_gone_conclusive(evidence);
	case BASIS_NO_ROUTE:
		return is_no_route_conclusive(evidence, observed);
	case BASIS_REFUSAL:
		return evidence->has_refusal && observed == OBSERVED_PROXY_REFUSED;
	case BASIS_NONE:
	case BASIS_COUNT:
		break;
	}
	return false;
}

enum basis verdict_basis(unsigned int allowed, const struct evidence *evidence,
			 enum observed observed)
{
	for (int basis = BASIS_OUTCOME; basis < BASIS_COUNT; basis++)
		if ((allowed & (1U << basis)) &&
		    verdict_conclusive((enum basis)basis, evidence, observed))
			return (enum basis)basis;
	return BASIS_NONE;
}
