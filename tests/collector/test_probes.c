// SPDX-License-Identifier: GPL-2.0-or-later
// collector/probes: what each row of the catalog becomes, aimed at what, with which
// control; leaks that are named; a probe that was never run is found.
#include "tests/unit/unit.h"

#include "collector/probes.h"
#include "policy/endpoint_digest.h"

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define NO_ROLE ENDPOINT_ROLE_COUNT

enum { ENDPOINTS = 3, CONNECT_MS = 11, CHECK_MS = 12, DNS_MS = 14, PROXY_MS = 15 };

struct bench {
	struct session session;
	struct record_phase phase;
	struct probe_set set;
	size_t told;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct session *session = &bench->session;

	*state = bench;
	session->targets = (struct targets){
		.public = {"192.0.2.1", 80},
		.ipv6 = {"2001:db8::1", 81},
		.metadata = {"169.254.169.254", 82},
		.dns_name = "example.com",
		.proxy_authority = "example.org:443",
		.docker_api_port = 2375,
		.host_loopback = {"10.0.2.2", 83},
		.sibling_port = 84,
		.timeouts = {.connect_ms = CONNECT_MS,
			     .check_ms = CHECK_MS,
			     .dns_ms = DNS_MS,
			     .proxy_ms = PROXY_MS},
	};
	strcpy(session->site.router.address, "10.204.0.1");
	session->site.router.port = 8443;
	strcpy(session->site.proxy.address, "10.203.0.1");
	session->site.proxy.port = 3128;
	strcpy(session->profile.label_key, KEY);
	session->profile.trusted_tcp_count = ENDPOINTS;
	for (int i = 0; i < ENDPOINTS; i++) {
		sprintf(session->profile.trusted_tcp[i].address, "198.51.100.%d", i + 1);
		session->profile.trusted_tcp[i].port = (uint16_t)(5000 + i);
	}
	strcpy(session->agents[POSITION_SIBLING].address, "172.19.0.2");
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* --- the table -------------------------------------------------------------------- */

#define TRUSTED "trusted"
#define ROUTER "10.204.0.1 8443"
#define PROXY "10.203.0.1 3128"

/* What the collector itself reads or counts has no request: op 0 is a hello. */
static const struct row {
	const char *id;
	int op;
	const char *at;     /* address and port */
	const char *target; /* name */
	int64_t timeout_ms;
	bool has_control;
	enum endpoint_role role;
} rows[] = {
	{"candidate.router.connect", AGENT_CONNECT, ROUTER, "", CONNECT_MS, false,
	 ENDPOINT_ROLE_ROUTER},
	{"candidate.proxy.connect", AGENT_CONNECT, PROXY, "", CONNECT_MS, false,
	 ENDPOINT_ROLE_PROXY},
	{"candidate.proxy.forward", AGENT_PROXY_FORWARD, PROXY, "example.org:443",
	 PROXY_MS, false, ENDPOINT_ROLE_PROXY},
	{"candidate.dns", AGENT_DNS, " 0", "example.com", DNS_MS, true, NO_ROLE},
	{"candidate.metadata", AGENT_CONNECT, "169.254.169.254 82", "", CONNECT_MS, true,
	 NO_ROLE},
	{"candidate.public", AGENT_CONNECT, "192.0.2.1 80", "", CONNECT_MS, true,
	 NO_ROLE},
	{"candidate.ipv6", AGENT_CONNECT, "2001:db8::1 81", "", CONNECT_MS, true,
	 NO_ROLE},
	{"candidate.host_loopback", AGENT_CONNECT, "10.0.2.2 83", "", CONNECT_MS, false,
	 NO_ROLE},
	{"candidate.sibling_attempt", AGENT_CONNECT, "172.19.0.2 84", "", CONNECT_MS,
	 false, NO_ROLE},
	{"candidate.docker_api", AGENT_CONNECT, "10.204.0.1 2375", "", CONNECT_MS, false,
	 NO_ROLE},
	{"candidate.trusted", AGENT_CONNECT, TRUSTED, "", CONNECT_MS, true,
	 ENDPOINT_ROLE_TRUSTED_TCP},
	{"candidate.identity", AGENT_HELLO, " 0", "", 0, false, NO_ROLE},
	{"worker.trusted.handshake", AGENT_HANDSHAKE, TRUSTED, "", CONNECT_MS, false,
	 ENDPOINT_ROLE_TRUSTED_TCP},
	{"worker.public", AGENT_CONNECT, "192.0.2.1 80", "", CONNECT_MS, true, NO_ROLE},
	{"worker.ipv6", AGENT_CONNECT, "2001:db8::1 81", "", CONNECT_MS, true, NO_ROLE},
	{"worker.metadata", AGENT_CONNECT, "169.254.169.254 82", "", CONNECT_MS, true,
	 NO_ROLE},
	{"worker.dns", AGENT_DNS, " 0", "example.com", DNS_MS, true, NO_ROLE},
	{"daemon.trusted", AGENT_CONNECT, TRUSTED, "", CONNECT_MS, true,
	 ENDPOINT_ROLE_TRUSTED_TCP},
	{"daemon.public", AGENT_CONNECT, "192.0.2.1 80", "", CONNECT_MS, true, NO_ROLE},
	{"daemon.ipv6", AGENT_CONNECT, "2001:db8::1 81", "", CONNECT_MS, true, NO_ROLE},
	{"daemon.metadata", AGENT_CONNECT, "169.254.169.254 82", "", CONNECT_MS, true,
	 NO_ROLE},
	{"daemon.dns", AGENT_DNS, " 0", "example.com", DNS_MS, true, NO_ROLE},
	{"daemon.subordinate", AGENT_CONNECT, "192.0.2.1 80", "", CONNECT_MS, true,
	 NO_ROLE},
	{"worker.trusted.after_stop", AGENT_CONNECT, TRUSTED, "", CONNECT_MS, true,
	 ENDPOINT_ROLE_TRUSTED_TCP},
	{"candidate.router.after_stop", AGENT_CONNECT, ROUTER, "", CONNECT_MS, false,
	 ENDPOINT_ROLE_ROUTER},
	{"daemon.public.after_stop", AGENT_CONNECT, "192.0.2.1 80", "", CONNECT_MS, true,
	 NO_ROLE},
	/* Of a flow, which the phase puts in: no address. */
	{"worker.trusted.established_after_expiry", AGENT_CHECK, " 0", "", CHECK_MS,
	 false, ENDPOINT_ROLE_TRUSTED_TCP},
	{"worker.trusted.new_after_expiry", AGENT_CONNECT, TRUSTED, "", CONNECT_MS, true,
	 ENDPOINT_ROLE_TRUSTED_TCP},
	{"candidate.router.established_after_expiry", AGENT_CHECK, " 0", "", CHECK_MS,
	 false, ENDPOINT_ROLE_ROUTER},
	{"candidate.router.new_after_expiry", AGENT_CONNECT, ROUTER, "", CONNECT_MS,
	 false, ENDPOINT_ROLE_ROUTER},
	{"daemon.public.after_expiry", AGENT_CONNECT, "192.0.2.1 80", "", CONNECT_MS,
	 true, NO_ROLE},
	{"worker.trusted.after_failed_start", AGENT_CONNECT, TRUSTED, "", CONNECT_MS,
	 true, ENDPOINT_ROLE_TRUSTED_TCP},
};

/* Read by the collector: nobody is asked. */
static const char *const unasked[] = {"candidate.router.source", "candidate.host_ids",
				      "executor.interfaces"};

static const struct row *find_row(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].id, id) == 0)
			return &rows[i];
	for (size_t i = 0; i < ARRAY_SIZE(unasked); i++)
		if (strcmp(unasked[i], id) == 0)
			return NULL;
	fail_msg("a probe that this test does not know: %s", id);
	return NULL;
}

static void assert_endpoint(const struct record_probe *record, enum endpoint_role role,
			    const char *address, int64_t port)
{
	char sha256[DIGEST_TEXT_SIZE];
	struct diag diag = {0};

	assert_true(record->has_endpoint);
	assert_int_equal(endpoint_digest(KEY, address, port, role, sha256, &diag), 0);
	assert_string_equal(record->endpoint_sha256, sha256);
}

static void assert_probe(struct bench *bench, const struct probe *probe, size_t index)
{
	const struct row *row = find_row(probe->entry->id);
	const struct profile_endpoint *trusted =
		&bench->session.profile.trusted_tcp[index];
	char at[INET_TEXT_SIZE + 8], wanted[INET_TEXT_SIZE + 8];

	assert_string_equal(probe->record->id, probe->entry->id);
	/* Until it was made it is a broken probe, which nothing expects. */
	assert_int_equal(probe->record->observed, OBSERVED_PROBE_ERROR);
	assert_ptr_equal(probe->agent, &bench->session.agents[probe->entry->position]);
	if (!row)
		return;
	snprintf(at, sizeof(at), "%s %d", probe->request.address,
		 (int)probe->request.port);
	snprintf(wanted, sizeof(wanted), "%s", row->at);
	if (strcmp(row->at, TRUSTED) == 0)
		snprintf(wanted, sizeof(wanted), "%s %d", trusted->address,
			 (int)trusted->port);
	assert_int_equal(probe->request.op, row->op);
	assert_string_equal(at, wanted);
	assert_string_equal(probe->request.target, row->target);
	assert_int_equal(probe->request.timeout_ms, row->timeout_ms);
	assert_int_equal(probe->has_control, row->has_control);
	if (row->has_control)
		assert_memory_equal(&probe->control, &probe->request,
				    sizeof(probe->control));
	if (row->role == ENDPOINT_ROLE_TRUSTED_TCP)
		assert_endpoint(probe->record, row->role, trusted->address,
				trusted->port);
	else if (row->role == ENDPOINT_ROLE_ROUTER)
		assert_endpoint(probe->record, row->role, "10.204.0.1", 8443);
	else if (row->role == ENDPOINT_ROLE_PROXY)
		assert_endpoint(probe->record, row->role, "10.203.0.1", 3128);
	else
		assert_false(probe->record->has_endpoint);
}

static void test_each_row_is_aimed(void **state)
{
	struct bench *bench = *state;
	size_t all = 0, repeated = 0;

	for (enum phase_name name = 0; name < PHASE_COUNT; name++) {
		struct diag diag = {0};
		size_t index = 0;

		memset(&bench->phase, 0, sizeof(bench->phase));
		assert_int_equal(probes_prepare(&bench->session, name, &bench->phase,
						&bench->set, &diag),
				 0);
		assert_int_equal(bench->phase.probe_count, bench->set.count);
		for (size_t i = 0; i < bench->set.count; i++) {
			const struct probe *probe = &bench->set.probes[i];
			bool is_next =
				i && bench->set.probes[i - 1].entry == probe->entry;

			index = is_next ? index + 1 : 0;
			repeated += is_next;
			assert_ptr_equal(probe->record, &bench->phase.probes[i]);
			assert_ptr_equal(
				probes_find(&bench->set, probe->entry->id, index), probe);
			assert_probe(bench, probe, index);
		}
		all += bench->set.count;
	}
	/* All rows, and those of endpoints for each further one. */
	assert_int_equal(all - repeated, ARRAY_SIZE(rows) + ARRAY_SIZE(unasked));
	assert_int_equal(repeated, 7 * (ENDPOINTS - 1));
	assert_int_equal(probes_count_all(&bench->session.profile), all);
}

static void test_the_worker_has_dns_as_granted(void **state)
{
	struct bench *bench = *state;
	struct diag diag = {0};

	assert_int_equal(probes_prepare(&bench->session, PHASE_ACTIVE, &bench->phase,
					&bench->set, &diag),
			 0);
	assert_int_equal(probes_find(&bench->set, "worker.dns", 0)->record->expect,
			 EXPECT_DENIED);
	memset(&bench->phase, 0, sizeof(bench->phase));
	bench->session.profile.trusted_dns_count = 1;
	assert_int_equal(probes_prepare(&bench->session, PHASE_ACTIVE, &bench->phase,
					&bench->set, &diag),
			 0);
	assert_int_equal(probes_find(&bench->set, "worker.dns", 0)->record->expect,
			 EXPECT_CONNECTED);
	assert_int_equal(probes_find(&bench->set, "daemon.dns", 0)->record->expect,
			 EXPECT_DENIED);
}

/* --- what becomes of them --------------------------------------------------------- */

static void tell(void *context, const struct record_probe *probe, size_t done, size_t all,
		 int64_t seconds_left)
{
	struct bench *bench = context;

	(void)probe;
	(void)seconds_left;
	assert_int_equal(done, ++bench->told);
	assert_int_equal(all, bench->session.probes_all);
}

static void test_one_that_was_not_run_is_found(void **state)
{
	struct bench *bench = *state;
	struct probe_set *set = &bench->set;
	struct diag diag = {0};

	bench->session.progress.on_probe = tell;
	bench->session.progress.context = bench;
	bench->session.probes_all = 77;
	assert_int_equal(probes_prepare(&bench->session, PHASE_STOP_ROLLBACK,
					&bench->phase, set, &diag),
			 0);
	for (size_t i = 0; i + 1 < set->count; i++)
		probes_finish(set, &set->probes[i]);
	assert_true(probes_close(set, &diag) < 0);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_string_equal(diag.place, set->probes[set->count - 1].entry->id);
	probes_finish(set, &set->probes[set->count - 1]);
	assert_int_equal(probes_close(set, &(struct diag){0}), 0);
	assert_int_equal(bench->told, set->count);
	assert_int_equal(bench->session.probes_done, set->count);
}

/* The bench's phase as the session's only one, prepared. */
static struct record_phase *prepare(struct bench *bench, enum phase_name name)
{
	struct record *record = &bench->session.record;
	struct record_phase *phase = &record->phases[record->phase_count++];
	struct diag diag = {0};

	assert_int_equal(probes_prepare(&bench->session, name, phase, &bench->set, &diag),
			 0);
	return phase;
}

static void answer(struct bench *bench, const char *id, size_t index,
		   enum observed observed)
{
	struct agent_answer answer = {.has_outcome = true, .outcome = (int)observed};

	probes_take_answer(probes_find(&bench->set, id, index), &answer);
}

static void assert_told(const struct bench *bench, const char *reason, const char *text)
{
	struct diag diag = {0};

	diag_fail(&diag, 0, "x", "%s", reason);
	session_add_leaks(&bench->session, &diag);
	assert_string_equal(diag.text, text);
	assert_int_equal(diag.kind,
			 strcmp(text, reason) == 0 ? DIAG_UNDECIDED : DIAG_REFUSED);
}

/* Whether or not anybody has come to judge it. */
static void test_a_leak_is_named_from_its_answer_on(void **state)
{
	struct bench *bench = *state;

	assert_told(bench, "why", "why");
	prepare(bench, PHASE_ACTIVE);
	answer(bench, "candidate.metadata", 0, OBSERVED_UNREACHABLE);
	/* A broken probe reached nothing, and shows nothing. */
	answer(bench, "daemon.public", 0, OBSERVED_PROBE_ERROR);
	/* What may be reached is no leak. */
	answer(bench, "candidate.router.connect", 0, OBSERVED_CONNECTED);
	answer(bench, "worker.trusted.handshake", 0, OBSERVED_HANDSHAKE_COMPLETED);
	answer(bench, "candidate.proxy.forward", 0, OBSERVED_PROXY_REFUSED);
	assert_told(bench, "why", "why");
	answer(bench, "worker.ipv6", 0, OBSERVED_CONNECTED);
	answer(bench, "candidate.public", 0, OBSERVED_CONNECTED);
	assert_told(bench, "why",
		    "why; leaks already seen: candidate.public, worker.ipv6");
	answer(bench, "candidate.proxy.forward", 0, OBSERVED_PROXY_FORWARDED);
	answer(bench, "candidate.trusted", 0, OBSERVED_CONNECTED);
	answer(bench, "candidate.trusted", 2, OBSERVED_CONNECTED);
	prepare(bench, PHASE_EXPIRY);
	answer(bench, "worker.trusted.established_after_expiry", 1, OBSERVED_CONNECTED);
	assert_told(bench, "why",
		    "why; leaks already seen: candidate.proxy.forward, candidate.public, "
		    "candidate.trusted (2), worker.ipv6, "
		    "worker.trusted.established_after_expiry");
}

/* Every probe there is, of as many endpoints as there can be, after a long reason. */
static void test_every_leak_has_room(void **state)
{
	struct bench *bench = *state;
	char reason[DIAG_TEXT_SIZE];
	struct diag diag = {0};

	bench->session.profile.trusted_tcp_count = PROFILE_TCP_MAX;
	for (size_t i = ENDPOINTS; i < PROFILE_TCP_MAX; i++)
		bench->session.profile.trusted_tcp[i] =
			bench->session.profile.trusted_tcp[0];
	for (enum phase_name name = 0; name < PHASE_COUNT; name++) {
		struct record_phase *phase = prepare(bench, name);

		for (size_t i = 0; i < phase->probe_count; i++)
			phase->probes[i].observed =
				phase->probes[i].expect == EXPECT_PROXY_REFUSED
					? OBSERVED_PROXY_FORWARDED
					: OBSERVED_CONNECTED;
	}
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	diag_fail(&diag, 0, "x", "%s", reason);
	session_add_leaks(&bench->session, &diag);
	assert_int_equal(strlen(diag.text), sizeof(diag.text) - 1);
	assert_non_null(strstr(diag.text, "xxx...; leaks already seen: candidate.proxy"));
	for (enum phase_name name = 0; name < PHASE_COUNT; name++) {
		const struct record_phase *phase = &bench->session.record.phases[name];

		for (size_t i = 0; i < phase->probe_count; i++)
			if (phase->probes[i].expect == EXPECT_DENIED ||
			    phase->probes[i].expect == EXPECT_CUT)
				assert_non_null(strstr(diag.text, phase->probes[i].id));
	}
	assert_non_null(strstr(diag.text, "worker.trusted.after_failed_start (32)"));
}

/* An answer without an outcome is a broken probe. */
static void test_an_answer_without_outcome(void **state)
{
	struct bench *bench = *state;
	struct agent_answer answer = {.outcome = (int)OBSERVED_REFUSED};
	struct diag diag = {0};
	struct probe *probe;

	assert_int_equal(probes_prepare(&bench->session, PHASE_ACTIVE, &bench->phase,
					&bench->set, &diag),
			 0);
	probe = probes_find(&bench->set, "candidate.public", 0);
	probes_take_answer(probe, &answer);
	probes_finish(&bench->set, probe);
	assert_int_equal(probe->record->observed, OBSERVED_PROBE_ERROR);
	assert_false(probe->record->matched);
	assert_false(probe->record->conclusive);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_each_row_is_aimed),
		CASE(test_the_worker_has_dns_as_granted),
		CASE(test_one_that_was_not_run_is_found),
		CASE(test_a_leak_is_named_from_its_answer_on),
		CASE(test_every_leak_has_room),
		CASE(test_an_answer_without_outcome),
	};

	return cmocka_run_group_tests_name("probes", tests, NULL, NULL);
}
