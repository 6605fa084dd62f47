// SPDX-License-Identifier: GPL-2.0-or-later
// policy/verdict: every expectation with every observation, every basis with every
// observation, and every number that a basis looks at, spoiled one at a time.
#include "policy/record.h"
#include "tests/unit/unit.h"

#define BIT(value) (1U << (value))

#define DENIALS                                                                          \
	(BIT(OBSERVED_NOT_PERMITTED) | BIT(OBSERVED_REFUSED) | BIT(OBSERVED_RESET) |     \
	 BIT(OBSERVED_TIMEOUT) | BIT(OBSERVED_UNREACHABLE))
#define CUTS                                                                             \
	(BIT(OBSERVED_NOT_PERMITTED) | BIT(OBSERVED_CLOSED) | BIT(OBSERVED_RESET) |      \
	 BIT(OBSERVED_TIMEOUT) | BIT(OBSERVED_UNREACHABLE))
#define REACHED                                                                          \
	(BIT(OBSERVED_CONNECTED) | BIT(OBSERVED_ACCEPTED) |                              \
	 BIT(OBSERVED_HANDSHAKE_COMPLETED) | BIT(OBSERVED_PROXY_FORWARDED))

/* For each expectation, all that it accepts. */
static const unsigned int accepted[EXPECT_COUNT] = {
	[EXPECT_CONNECTED] = BIT(OBSERVED_CONNECTED),
	[EXPECT_HANDSHAKE_COMPLETED] = BIT(OBSERVED_HANDSHAKE_COMPLETED),
	[EXPECT_PROXY_REFUSED] = BIT(OBSERVED_PROXY_REFUSED),
	[EXPECT_CONTAINER_ADDRESS] = BIT(OBSERVED_CONTAINER_ADDRESS),
	[EXPECT_IDENTITY_EXACT] = BIT(OBSERVED_IDENTITY_EXACT),
	[EXPECT_ONLY_LOOPBACK] = BIT(OBSERVED_ONLY_LOOPBACK),
	[EXPECT_DENIED] = DENIALS,
	[EXPECT_CUT] = CUTS,
};

/* For each basis, the observations it can explain, all its numbers being good.
 * Identities and interfaces are good for the exact ones in good_evidence(). */
static const unsigned int explained[BASIS_COUNT] = {
	[BASIS_NONE] = 0,
	[BASIS_OUTCOME] = REACHED | BIT(OBSERVED_CONTAINER_ADDRESS) |
			  BIT(OBSERVED_HOST_ADDRESS) | BIT(OBSERVED_OTHER_ADDRESS) |
			  BIT(OBSERVED_IDENTITY_EXACT) | BIT(OBSERVED_ONLY_LOOPBACK),
	[BASIS_CONTROL] = DENIALS | CUTS,
	[BASIS_DENY_COUNTER] = DENIALS | CUTS,
	[BASIS_LISTENER] = DENIALS | CUTS,
	[BASIS_LISTENER_GONE] = DENIALS | CUTS,
	[BASIS_NO_ROUTE] = BIT(OBSERVED_UNREACHABLE),
	[BASIS_REFUSAL] = BIT(OBSERVED_PROXY_REFUSED),
};

#define GOOD_EXCHANGE(at)                                                                \
	{                                                                                \
		OBSERVED_CONNECTED, 1000, (at)                                           \
	}

static struct evidence good_evidence(void)
{
	return (struct evidence){
		.elapsed_us = 3000000,
		.at_unix = 1000,
		.has_control = true,
		.has_deny_counter = true,
		.has_listener = true,
		.has_listener_gone = true,
		.has_no_route = true,
		.has_refusal = true,
		.has_identity = true,
		.has_interfaces = true,
		.control = {false, GOOD_EXCHANGE(990), GOOD_EXCHANGE(1010)},
		.deny_counter = {7, 8, 1},
		.listener = {1, 1, 2, GOOD_EXCHANGE(990), GOOD_EXCHANGE(1010)},
		.listener_gone = {1, 0},
		.no_route = {IP_FAMILY_IPV6, true, 0},
		.refusal = {"ab"},
		.identity = {65532, 65532, 65532, 65532},
		.interfaces = {1, 0},
	};
}

static void every_expectation_with_every_observation(void **state)
{
	(void)state;
	for (enum expectation expect = 0; expect < EXPECT_COUNT; expect++)
		for (enum observed seen = 0; seen < OBSERVED_COUNT; seen++)
			assert_int_equal(verdict_matched(expect, seen),
					 (accepted[expect] & BIT(seen)) != 0);
	for (enum observed seen = 0; seen < OBSERVED_COUNT; seen++)
		assert_false(verdict_matched(EXPECT_COUNT, seen));
}

static void no_expectation_accepts_a_probe_error(void **state)
{
	(void)state;
	for (enum expectation expect = 0; expect < EXPECT_COUNT; expect++)
		assert_false(verdict_matched(expect, OBSERVED_PROBE_ERROR));
}

static void a_leak_is_what_got_where_it_must_not(void **state)
{
	static const unsigned int leaks[EXPECT_COUNT] = {
		[EXPECT_DENIED] = REACHED,
		[EXPECT_CUT] = REACHED,
		[EXPECT_PROXY_REFUSED] = BIT(OBSERVED_PROXY_FORWARDED),
	};

	(void)state;
	for (enum expectation expect = 0; expect < EXPECT_COUNT; expect++)
		for (enum observed seen = 0; seen < OBSERVED_COUNT; seen++) {
			assert_int_equal(verdict_is_leak(expect, seen),
					 (leaks[expect] & BIT(seen)) != 0);
			assert_false(verdict_is_leak(expect, seen) &&
				     verdict_matched(expect, seen));
		}
	assert_false(verdict_is_leak(EXPECT_COUNT, OBSERVED_CONNECTED));
}

static void every_basis_with_every_observation(void **state)
{
	struct evidence evidence = good_evidence();

	(void)state;
	for (enum basis basis = 0; basis < BASIS_COUNT; basis++)
		for (enum observed seen = 0; seen < OBSERVED_COUNT; seen++)
			assert_int_equal(verdict_conclusive(basis, &evidence, seen),
					 (explained[basis] & BIT(seen)) != 0);
}

static void nothing_is_concluded_from_nothing(void **state)
{
	struct evidence evidence = {0};

	(void)state;
	for (enum basis basis = 0; basis <= BASIS_COUNT; basis++)
		for (enum observed seen = 0; seen < OBSERVED_COUNT; seen++) {
			bool is_told = basis == BASIS_OUTCOME &&
				       ((REACHED & BIT(seen)) ||
					seen == OBSERVED_CONTAINER_ADDRESS ||
					seen == OBSERVED_HOST_ADDRESS ||
					seen == OBSERVED_OTHER_ADDRESS);

			assert_int_equal(verdict_conclusive(basis, &evidence, seen),
					 is_told);
		}
}

/* Sets one number of good evidence to a value with which `basis` must fail. */
struct spoiler {
	enum basis basis;
	enum observed observed;
	const char *what;
	size_t offset;
	size_t size; /* of the member: int64_t, int or bool */
	int64_t value;
};

#define SPOIL(basis_, observed_, member_, value_)                                        \
	{                                                                                \
		BASIS_##basis_, OBSERVED_##observed_, #member_,                          \
			offsetof(struct evidence, member_),                              \
			sizeof(((struct evidence *)NULL)->member_), value_               \
	}

static const struct spoiler spoilers[] = {
	SPOIL(CONTROL, UNREACHABLE, has_control, 0),
	SPOIL(CONTROL, UNREACHABLE, control.before.outcome, OBSERVED_TIMEOUT),
	SPOIL(CONTROL, UNREACHABLE, control.before.outcome, OBSERVED_REFUSED),
	SPOIL(CONTROL, UNREACHABLE, control.before.outcome, OBSERVED_PROBE_ERROR),
	SPOIL(CONTROL, UNREACHABLE, control.after.outcome, OBSERVED_UNREACHABLE),
	SPOIL(CONTROL, UNREACHABLE, control.after.outcome, OBSERVED_HANDSHAKE_FAILED),
	SPOIL(CONTROL, UNREACHABLE, control.before.at_unix, 1001),
	SPOIL(CONTROL, UNREACHABLE, control.after.at_unix, 999),
	SPOIL(CONTROL, UNREACHABLE, control.before.at_unix, 949),
	SPOIL(CONTROL, UNREACHABLE, control.after.at_unix, 1051),
	SPOIL(CONTROL, TIMEOUT, control.before.elapsed_us, 1500001),
	SPOIL(CONTROL, TIMEOUT, control.after.elapsed_us, 1500001),
	SPOIL(CONTROL, TIMEOUT, elapsed_us, 1999),
	SPOIL(DENY_COUNTER, UNREACHABLE, has_deny_counter, 0),
	SPOIL(DENY_COUNTER, UNREACHABLE, deny_counter.packets_before, 8),
	SPOIL(DENY_COUNTER, UNREACHABLE, deny_counter.packets_before, 9),
	SPOIL(DENY_COUNTER, UNREACHABLE, deny_counter.packets_after, 7),
	SPOIL(DENY_COUNTER, UNREACHABLE, deny_counter.in_flight, 2),
	SPOIL(DENY_COUNTER, UNREACHABLE, deny_counter.in_flight, 0),
	SPOIL(LISTENER, TIMEOUT, has_listener, 0),
	SPOIL(LISTENER, TIMEOUT, listener.accepted, 3),
	SPOIL(LISTENER, TIMEOUT, listener.accepted, 1),
	SPOIL(LISTENER, TIMEOUT, listener.reached_before, 0),
	SPOIL(LISTENER, TIMEOUT, listener.reached_after, 0),
	SPOIL(LISTENER, TIMEOUT, listener.alive_before.outcome, OBSERVED_TIMEOUT),
	SPOIL(LISTENER, TIMEOUT, listener.alive_after.outcome, OBSERVED_UNREACHABLE),
	SPOIL(LISTENER, TIMEOUT, listener.alive_before.at_unix, 1001),
	SPOIL(LISTENER, TIMEOUT, listener.alive_after.at_unix, 999),
	SPOIL(LISTENER, TIMEOUT, listener.alive_before.at_unix, 949),
	SPOIL(LISTENER_GONE, REFUSED, has_listener_gone, 0),
	SPOIL(LISTENER_GONE, REFUSED, listener_gone.reached_before, 0),
	SPOIL(LISTENER_GONE, REFUSED, listener_gone.listening_now, 1),
	SPOIL(NO_ROUTE, UNREACHABLE, has_no_route, 0),
	SPOIL(NO_ROUTE, UNREACHABLE, no_route.routes, 1),
	SPOIL(NO_ROUTE, UNREACHABLE, no_route.family, IP_FAMILY_IPV4),
	SPOIL(REFUSAL, PROXY_REFUSED, has_refusal, 0),
	SPOIL(OUTCOME, IDENTITY_EXACT, has_identity, 0),
	SPOIL(OUTCOME, IDENTITY_EXACT, identity.uid, 0),
	SPOIL(OUTCOME, IDENTITY_EXACT, identity.gid, 0),
	SPOIL(OUTCOME, IDENTITY_EXACT, identity.expected_uid, 65533),
	SPOIL(OUTCOME, IDENTITY_EXACT, identity.expected_gid, 65533),
	SPOIL(OUTCOME, ONLY_LOOPBACK, has_interfaces, 0),
	SPOIL(OUTCOME, ONLY_LOOPBACK, interfaces.loopback, 0),
	SPOIL(OUTCOME, ONLY_LOOPBACK, interfaces.loopback, 2),
	SPOIL(OUTCOME, ONLY_LOOPBACK, interfaces.others, 1),
};

static void set_member(struct evidence *evidence, const struct spoiler *spoiler)
{
	char *member = (char *)evidence + spoiler->offset;

	if (spoiler->size == sizeof(int64_t))
		memcpy(member, &spoiler->value, sizeof(int64_t));
	else if (spoiler->size == sizeof(int))
		*(int *)member = (int)spoiler->value;
	else
		*(bool *)member = spoiler->value != 0;
}

static void every_number_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoilers); i++) {
		const struct spoiler *spoiler = &spoilers[i];
		struct evidence evidence = good_evidence();

		assert_true(
			verdict_conclusive(spoiler->basis, &evidence, spoiler->observed));
		set_member(&evidence, spoiler);
		if (verdict_conclusive(spoiler->basis, &evidence, spoiler->observed))
			fail_msg("%s by %s although %s is %lld",
				 observed_names[spoiler->observed],
				 basis_names[spoiler->basis], spoiler->what,
				 (long long)spoiler->value);
	}
}

static void the_limits_themselves_hold(void **state)
{
	struct evidence evidence = good_evidence();

	(void)state;
	evidence.control.before = (struct exchange){OBSERVED_CONNECTED, 1500000, 970};
	evidence.control.after =
		(struct exchange){OBSERVED_HANDSHAKE_COMPLETED, 1500000, 1030};
	assert_true(verdict_conclusive(BASIS_CONTROL, &evidence, OBSERVED_TIMEOUT));
	evidence.control.before.at_unix = evidence.control.after.at_unix =
		evidence.at_unix;
	assert_true(verdict_conclusive(BASIS_CONTROL, &evidence, OBSERVED_TIMEOUT));
	evidence.no_route = (struct evidence_no_route){IP_FAMILY_IPV6, false, 0};
	assert_true(verdict_conclusive(BASIS_NO_ROUTE, &evidence, OBSERVED_UNREACHABLE));
}

static void a_slow_control_only_matters_for_time_outs(void **state)
{
	struct evidence evidence = good_evidence();

	(void)state;
	evidence.control.before.elapsed_us = evidence.control.after.elapsed_us = 9000000;
	assert_false(verdict_conclusive(BASIS_CONTROL, &evidence, OBSERVED_TIMEOUT));
	assert_true(verdict_conclusive(BASIS_CONTROL, &evidence, OBSERVED_UNREACHABLE));
	evidence.control.held = true;
	assert_true(verdict_conclusive(BASIS_CONTROL, &evidence, OBSERVED_TIMEOUT));
}

static void identities_that_differ_are_conclusive_too(void **state)
{
	struct evidence evidence = good_evidence();

	(void)state;
	assert_false(verdict_conclusive(BASIS_OUTCOME, &evidence,
					OBSERVED_IDENTITY_DIFFERENT));
	assert_false(
		verdict_conclusive(BASIS_OUTCOME, &evidence, OBSERVED_OTHER_INTERFACES));
	evidence.identity.uid = 0;
	evidence.interfaces.others = 1;
	assert_true(verdict_conclusive(BASIS_OUTCOME, &evidence,
				       OBSERVED_IDENTITY_DIFFERENT));
	assert_true(
		verdict_conclusive(BASIS_OUTCOME, &evidence, OBSERVED_OTHER_INTERFACES));
}

static void the_first_allowed_basis_is_taken(void **state)
{
	struct evidence evidence = good_evidence();
	unsigned int all = BIT(BASIS_COUNT) - 1;

	(void)state;
	assert_int_equal(verdict_basis(all, &evidence, OBSERVED_UNREACHABLE),
			 BASIS_CONTROL);
	assert_int_equal(
		verdict_basis(all & ~BIT(BASIS_CONTROL), &evidence, OBSERVED_UNREACHABLE),
		BASIS_DENY_COUNTER);
	assert_int_equal(
		verdict_basis(BIT(BASIS_NO_ROUTE), &evidence, OBSERVED_UNREACHABLE),
		BASIS_NO_ROUTE);
	assert_int_equal(verdict_basis(0, &evidence, OBSERVED_UNREACHABLE), BASIS_NONE);
	assert_int_equal(verdict_basis(all, &evidence, OBSERVED_PROBE_ERROR), BASIS_NONE);
	assert_int_equal(verdict_basis(all, &evidence, OBSERVED_CONNECTED),
			 BASIS_OUTCOME);
}

/* The catalog's row decides what a probe may rest on. */
static void a_probe_is_judged_by_its_row(void **state)
{
	const struct catalog *catalog = catalog_builtin();
	struct record_probe probe = {
		.expect = EXPECT_DENIED,
		.observed = OBSERVED_UNREACHABLE,
		.evidence = good_evidence(),
	};

	(void)state;
	record_judge_probe(&probe, catalog_find(catalog, "candidate.public"));
	assert_true(probe.matched && probe.conclusive);
	assert_int_equal(probe.basis, BASIS_CONTROL);
	record_judge_probe(&probe, catalog_find(catalog, "candidate.host_loopback"));
	assert_int_equal(probe.basis, BASIS_LISTENER);
	/* A flow that was held is no attempt, and an attempt no flow. */
	probe.evidence.control.held = true;
	record_judge_probe(&probe, catalog_find(catalog, "candidate.public"));
	assert_int_equal(probe.basis, BASIS_DENY_COUNTER);
	probe.expect = EXPECT_CUT;
	record_judge_probe(&probe,
			   catalog_find(catalog, "worker.trusted.established_after_"
						 "expiry"));
	assert_int_equal(probe.basis, BASIS_CONTROL);
	/* A leak is conclusive, and does not match. */
	probe.expect = EXPECT_DENIED;
	probe.observed = OBSERVED_CONNECTED;
	record_judge_probe(&probe, catalog_find(catalog, "candidate.host_loopback"));
	assert_true(probe.conclusive && !probe.matched);
	assert_int_equal(probe.basis, BASIS_OUTCOME);
	/* A resolver's refusal is no basis. */
	probe.observed = OBSERVED_REFUSED;
	memset(&probe.evidence, 0, sizeof(probe.evidence));
	probe.evidence.has_refusal = true;
	record_judge_probe(&probe, catalog_find(catalog, "candidate.dns"));
	assert_true(probe.matched && !probe.conclusive);
}

static void every_name_is_there(void **state)
{
	(void)state;
	for (int i = 0; i < OBSERVED_COUNT; i++)
		assert_non_null(observed_names[i]);
	for (int i = 0; i < EXPECT_COUNT; i++)
		assert_string_equal(expectation_names[i], catalog_expect_names[i]);
	for (int i = 0; i < BASIS_COUNT; i++)
		assert_non_null(basis_names[i]);
	assert_null(observed_names[OBSERVED_COUNT]);
	assert_null(expectation_names[EXPECT_COUNT]);
	assert_null(basis_names[BASIS_COUNT]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_expectation_with_every_observation),
		cmocka_unit_test(no_expectation_accepts_a_probe_error),
		cmocka_unit_test(a_leak_is_what_got_where_it_must_not),
		cmocka_unit_test(every_basis_with_every_observation),
		cmocka_unit_test(nothing_is_concluded_from_nothing),
		cmocka_unit_test(every_number_counts),
		cmocka_unit_test(the_limits_themselves_hold),
		cmocka_unit_test(a_slow_control_only_matters_for_time_outs),
		cmocka_unit_test(identities_that_differ_are_conclusive_too),
		cmocka_unit_test(the_first_allowed_basis_is_taken),
		cmocka_unit_test(a_probe_is_judged_by_its_row),
		cmocka_unit_test(every_name_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
