// SPDX-License-Identifier: GPL-2.0-or-later
// policy/record and policy/preflight: what is written is read back the same, at the
// largest size too, and what a reader would refuse is not written.
#include "policy/record.h"
#include "tests/unit/unit.h"

#define TRUSTED_MAX 32

static const char digest[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void set(char (*text)[DIGEST_TEXT_SIZE])
{
	memcpy(*text, digest, DIGEST_TEXT_SIZE);
}

#define TEXT(member, value) snprintf((member), sizeof(member), "%s", (value))

static void fill_host(struct host *host)
{
	set(&host->machine_id_sha256);
	TEXT(host->boot_id, "6a1f0c1e-52f5-4b7e-9d0c-1f2e3d4c5b6a");
	TEXT(host->kernel, "6.1.0-18-amd64");
}

static void fill_daemon(struct daemon_identity *daemon)
{
	TEXT(daemon->id, "ABCD:EFGH");
	TEXT(daemon->version, "20.10.24");
	TEXT(daemon->root_dir, "/var/lib/engine");
	TEXT(daemon->storage_driver, "overlay2");
	TEXT(daemon->cgroup_driver, "systemd");
	TEXT(daemon->cgroup_version, "2");
	TEXT(daemon->default_runtime, "runc");
	TEXT(daemon->socket, "/run/engine.sock");
	TEXT(daemon->security_options[0], "name=seccomp,profile=default");
	TEXT(daemon->security_options[1], "name=rootless");
	daemon->security_option_count = 2;
	daemon_identity_sort(daemon);
}

static void fill_unit(struct unit_state *unit)
{
	TEXT(unit->name, "a.service");
	TEXT(unit->active_state, "active");
	TEXT(unit->sub_state, "running");
	set(&unit->unit_sha256);
}

static struct preflight *make_preflight(void)
{
	struct preflight *preflight = calloc(1, sizeof(*preflight));
	struct diag diag = {0};

	assert_non_null(preflight);
	fill_host(&preflight->host);
	set(&preflight->site_sha256);
	set(&preflight->release_sha256);
	for (size_t i = 0; i < RELEASE_PROGRAM_COUNT; i++)
		set(&preflight->programs.sha256[i]);
	set(&preflight->catalog_sha256);
	set(&preflight->targets_sha256);
	snprintf(preflight->candidate_image_id, sizeof(preflight->candidate_image_id),
		 "sha256:%s", digest);
	fill_daemon(&preflight->daemon);
	assert_int_equal(daemon_identity_digest(&preflight->daemon,
						preflight->daemon_sha256, &diag),
			 0);
	fill_unit(&preflight->units.worker);
	fill_unit(&preflight->units.guard);
	fill_unit(&preflight->units.proxy);
	fill_unit(&preflight->units.engine);
	set(&preflight->nft_ruleset_semantic_sha256);
	set(&preflight->guard_kernel_sha256);
	set(&preflight->nft_foreign_sha256);
	preflight->checked_at_unix = 1800000000;
	return preflight;
}

static void fill_binding(struct record *record)
{
	struct record_binding *binding = &record->network_binding;

	record->has_network_binding = true;
	TEXT(binding->worker_cgroup, "system.slice/a.service");
	TEXT(binding->nft_table, "netproof");
	set(&binding->scoped_ruleset_sha256);
	set(&binding->deny_ruleset_sha256);
	set(&binding->scoped_kernel_sha256);
	set(&binding->deny_kernel_sha256);
	set(&binding->foreign_sha256);
	set(&binding->worker_unit_sha256);
	TEXT(binding->refusing_proxy_unit, "b.service");
	set(&binding->refusing_proxy_sha256);
}

static void fill_states(struct record *record)
{
	struct record_preconditions *before = &record->preconditions;
	struct record_residue *after = &record->residue;

	set(&before->daemon_sha256);
	TEXT(before->worker_active_state, "inactive");
	TEXT(before->guard_active_state, "active");
	TEXT(before->proxy_active_state, "active");
	set(&before->guard_ruleset_sha256);
	set(&before->guard_kernel_sha256);
	set(&before->foreign_sha256);
	TEXT(after->worker_active_state, "inactive");
	set(&after->guard_ruleset_sha256);
	set(&after->guard_kernel_sha256);
	set(&after->foreign_sha256);
	set(&after->daemon_sha256);
	TEXT(after->boot_id, record->host.boot_id);
}

/* The longest evidence a probe of an all-well record has. */
static void add_probe(struct record_phase *phase, const struct catalog_probe *entry)
{
	struct record_probe *probe = &phase->probes[phase->probe_count++];

	assert_true(phase->probe_count <= RECORD_PROBES_MAX);
	TEXT(probe->id, entry->id);
	probe->has_endpoint = catalog_has_endpoint(entry);
	if (probe->has_endpoint)
		set(&probe->endpoint_sha256);
	probe->expect = (int)catalog_expectation(entry, true);
	probe->observed = OBSERVED_NOT_PERMITTED;
	probe->evidence.elapsed_us = 120000000;
	probe->evidence.at_unix = 1800000000;
	probe->evidence.has_control = true;
	probe->evidence.control.before.outcome = OBSERVED_HANDSHAKE_COMPLETED;
	probe->evidence.control.after.outcome = OBSERVED_HANDSHAKE_COMPLETED;
	probe->evidence.has_deny_counter = true;
	probe->evidence.has_listener = true;
	record_judge_probe(probe, entry);
}

static void add_agents(struct record_phase *phase)
{
	phase->agent_count = RECORD_AGENTS_MAX;
	for (size_t i = 0; i < phase->agent_count; i++) {
		struct record_agent *agent = &phase->agents[i];

		agent->pid = 4194304;
		set(&agent->before_sha256);
		set(&agent->after_sha256);
		set(&agent->end_sha256);
		memset(agent->cgroup, 'c', sizeof(agent->cgroup) - 1);
	}
}

static void add_comparisons(struct record_phase *phase)
{
	phase->comparison_count = RECORD_COMPARISONS_MAX;
	for (size_t i = 0; i < phase->comparison_count; i++) {
		set(&phase->comparisons[i].ruleset_sha256);
		set(&phase->comparisons[i].kernel_sha256);
		set(&phase->comparisons[i].foreign_sha256);
	}
}

static void add_phases(struct record *record, size_t trusted)
{
	const struct catalog *catalog = catalog_builtin();

	record->phase_count = PHASE_COUNT;
	for (size_t i = 0; i < PHASE_COUNT; i++) {
		record->phases[i].phase = (int)i;
		add_agents(&record->phases[i]);
		add_comparisons(&record->phases[i]);
	}
	for (size_t i = 0; i < catalog->probe_count; i++)
		for (size_t j = 0; j < (catalog->probes[i].per_endpoint ? trusted : 1);
		     j++)
			add_probe(&record->phases[catalog->probes[i].phase],
				  &catalog->probes[i]);
}

static struct record *make_record(size_t trusted)
{
	struct record *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	record_set_coverage(record, true);
	set(&record->catalog_sha256);
	set(&record->site_sha256);
	fill_host(&record->host);
	set(&record->release.release_sha256);
	TEXT(record->release.version, "0.1.0");
	TEXT(record->release.source_revision, "0123456789abcdef");
	set(&record->release.probe_runner_sha256);
	set(&record->release.targets_sha256);
	snprintf(record->release.candidate_image_id,
		 sizeof(record->release.candidate_image_id), "sha256:%s", digest);
	set(&record->tools.collector_sha256);
	set(&record->tools.engine_client_sha256);
	TEXT(record->tools.libnftables, "1.0.6");
	TEXT(record->tools.systemd, "252");
	set(&record->pre_collection_preflight_sha256);
	set(&record->inputs.config_sha256);
	set(&record->inputs.profile_sha256);
	record->endpoint_count = trusted + 4;
	for (size_t i = 0; i < record->endpoint_count; i++)
		set(&record->endpoints[i].endpoint_sha256);
	fill_binding(record);
	fill_states(record);
	add_phases(record, trusted);
	return record;
}

static void the_largest_record_fits(void **state)
{
	OWN(own_pointer) struct record *record = make_record(TRUSTED_MAX);
	OWN(own_pointer) struct record *again = calloc(1, sizeof(*again));
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};
	char line[512];
	int error = record_write(record, &bytes, &diag);

	(void)state;
	if (error)
		fail_msg("%s", diag_render(&diag, line, sizeof(line)));
	assert_int_equal(record_parse(bytes.data, bytes.size, "r", again, &diag), 0);
	assert_memory_equal(record, again, sizeof(*record));
	printf("with %d trusted endpoints and all its arrays full: %zu bytes of %d; in "
	       "memory %zu\n",
	       TRUSTED_MAX, bytes.size, RECORD_LIMIT, sizeof(*record));
}

/* Each makes a record that no reader would take. */
static void no_digest(struct record *record)
{
	record->site_sha256[0] = '\0';
}

static void upper_case_digest(struct record *record)
{
	record->phases[1].probes[0].endpoint_sha256[3] = 'A';
}

static void negative_time(struct record *record)
{
	record->completed_at_unix = -1;
}

static void large_time(struct record *record)
{
	record->started_at_unix = 1000000000000000;
}

static void quoted_text(struct record *record)
{
	TEXT(record->tools.systemd, "a\"b");
}

static void odd_text(struct record *record)
{
	TEXT(record->tools.systemd, "\xc3\xa9");
}

static void broken_text(struct record *record)
{
	TEXT(record->tools.systemd, "\xff");
}

static void no_pid(struct record *record)
{
	record->phases[0].agents[0].pid = 0;
}

static void what_no_reader_takes_is_not_written(void **state)
{
	static void (*const spoilers[])(struct record * record) = {
		no_digest,   upper_case_digest, negative_time, large_time,
		quoted_text, odd_text,          broken_text,   no_pid,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spoilers); i++) {
		OWN(own_pointer) struct record *record = make_record(1);
		struct bytes bytes = {0};
		struct diag diag = {0};

		spoilers[i](record);
		/* Text that is not UTF-8 is no text of ours: a failure, not a refusal. */
		assert_int_not_equal(record_write(record, &bytes, &diag), 0);
		assert_int_equal(diag.kind, spoilers[i] == broken_text ? DIAG_UNDECIDED
								       : DIAG_REFUSED);
		assert_null(bytes.data);
	}
}

static void a_refused_record_leaves_the_output_alone(void **state)
{
	OWN(own_pointer) struct record *record = make_record(1);
	OWN(own_pointer) struct record *again = calloc(1, sizeof(*again));
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(record_write(record, &bytes, &diag), 0);
	memset(again, 0x5a, sizeof(*again));
	/* The last byte of all is the last that is looked at. */
	assert_int_equal(record_parse(bytes.data, bytes.size - 1, "r", again, &diag),
			 -EINVAL);
	for (size_t i = 0; i < sizeof(*again); i++)
		assert_int_equal(((char *)again)[i], 0x5a);
}

static void coverage_is_what_the_contract_says(void **state)
{
	OWN(own_pointer) struct record *record = calloc(1, sizeof(*record));

	(void)state;
	record_set_coverage(record, false);
	assert_string_equal(record->coverage, "same_boot");
	assert_int_equal(record->not_covered_count, 3);
	assert_string_equal(record->not_covered[0], "daemon_restart_recovery");
	assert_string_equal(record->not_covered[1], "production_worker");
	assert_string_equal(record->not_covered[2], "reboot_recovery");
	record_set_coverage(record, true);
	assert_int_equal(record->not_covered_count, 4);
	assert_string_equal(record->not_covered[3], "router_kernel_enforcement");
}

static void probes_are_counted(void **state)
{
	OWN(own_pointer) struct record *record = make_record(2);
	size_t all = 0, good = 0, wanted_good = 0;

	(void)state;
	for (size_t i = 0; i < PHASE_COUNT; i++)
		for (size_t j = 0; j < record->phases[i].probe_count; j++) {
			struct record_probe *probe = &record->phases[i].probes[j];

			probe->matched = j % 2;
			probe->conclusive = j % 3;
			wanted_good += j % 2 && j % 3;
		}
	record_count_probes(record, &all, &good);
	assert_int_equal(all, 35 + 7);
	assert_int_equal(good, wanted_good);
}

static void a_preflight_comes_back(void **state)
{
	OWN(own_pointer) struct preflight *preflight = make_preflight();
	OWN(own_pointer) struct preflight *again = calloc(1, sizeof(*again));
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(preflight_write(preflight, &bytes, &diag), 0);
	assert_int_equal(preflight_parse(bytes.data, bytes.size, "p", again, &diag), 0);
	assert_memory_equal(preflight, again, sizeof(*preflight));
}

static void a_preflight_with_anything_left_is_not_written(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		OWN(own_pointer) struct preflight *preflight = make_preflight();
		struct bytes bytes = {0};
		struct diag diag = {0};

		preflight->containers = i == 0;
		preflight->job_networks = i == 1;
		if (i == 2)
			set(&preflight->daemon_sha256);
		if (i == 3)
			TEXT(preflight->daemon.cgroup_driver, "cgroupfs");
		assert_int_equal(preflight_write(preflight, &bytes, &diag), -EINVAL);
		assert_int_equal(diag.kind, DIAG_REFUSED);
		assert_null(bytes.data);
	}
}

static void an_identity_is_its_digest(void **state)
{
	struct daemon_identity one = {0}, other = {0};
	char first[DIGEST_TEXT_SIZE], second[DIGEST_TEXT_SIZE];
	struct diag diag = {0};

	(void)state;
	fill_daemon(&one);
	fill_daemon(&other);
	assert_string_equal(one.security_options[0], "name=rootless");
	assert_int_equal(daemon_identity_check(&one, "d", &diag), 0);
	assert_int_equal(daemon_identity_digest(&one, first, &diag), 0);
	TEXT(other.version, "20.10.25");
	assert_int_equal(daemon_identity_digest(&other, second, &diag), 0);
	assert_string_not_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_record_fits),
		cmocka_unit_test(what_no_reader_takes_is_not_written),
		cmocka_unit_test(a_refused_record_leaves_the_output_alone),
		cmocka_unit_test(coverage_is_what_the_contract_says),
		cmocka_unit_test(probes_are_counted),
		cmocka_unit_test(a_preflight_comes_back),
		cmocka_unit_test(a_preflight_with_anything_left_is_not_written),
		cmocka_unit_test(an_identity_is_its_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
