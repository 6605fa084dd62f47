// SPDX-License-Identifier: GPL-2.0-or-later
// policy/catalog, host, endpoint_digest: the catalog is SPEC 7.3's table, and the
// digests are what another implementation computes.
#include "policy/catalog.h"
#include "policy/endpoint_digest.h"
#include "policy/host.h"
#include "tests/unit/unit.h"

/* SPEC 7.3, in its order; '*' where it has one. */
static const char *const specified[] = {
	"candidate.router.connect",
	"candidate.router.source",
	"candidate.proxy.connect",
	"candidate.proxy.forward",
	"candidate.dns",
	"candidate.metadata",
	"candidate.public",
	"candidate.ipv6",
	"candidate.host_loopback",
	"candidate.sibling_attempt",
	"candidate.docker_api",
	"candidate.trusted*",
	"candidate.identity",
	"candidate.host_ids",
	"executor.interfaces",
	"worker.trusted.handshake*",
	"worker.public",
	"worker.ipv6",
	"worker.metadata",
	"worker.dns",
	"daemon.trusted*",
	"daemon.public",
	"daemon.ipv6",
	"daemon.metadata",
	"daemon.dns",
	"daemon.subordinate",
	"worker.trusted.after_stop*",
	"candidate.router.after_stop",
	"daemon.public.after_stop",
	"worker.trusted.established_after_expiry*",
	"worker.trusted.new_after_expiry*",
	"candidate.router.established_after_expiry",
	"candidate.router.new_after_expiry",
	"daemon.public.after_expiry",
	"worker.trusted.after_failed_start*",
};

static void the_table_of_the_contract(void **state)
{
	const struct catalog *catalog = catalog_builtin();
	char id[CATALOG_ID_SIZE + 1];

	(void)state;
	assert_int_equal(catalog->probe_count, ARRAY_SIZE(specified));
	for (size_t i = 0; i < catalog->probe_count; i++) {
		const struct catalog_probe *probe = &catalog->probes[i];

		snprintf(id, sizeof(id), "%s%s", probe->id,
			 probe->per_endpoint ? "*" : "");
		assert_string_equal(id, specified[i]);
		assert_int_equal(probe->per_endpoint,
				 probe->target == CATALOG_TARGET_TRUSTED_TCP);
		if (i > 0)
			assert_true(catalog->probes[i - 1].phase <= probe->phase);
	}
}

static void every_probe_can_be_conclusive(void **state)
{
	const struct catalog *catalog = catalog_builtin();

	(void)state;
	for (size_t i = 0; i < catalog->probe_count; i++) {
		const struct catalog_probe *probe = &catalog->probes[i];
		bool is_denial =
			probe->expect == EXPECT_DENIED || probe->expect == EXPECT_CUT;

		assert_true(probe->base_count > 0);
		for (size_t j = 0; j < probe->base_count; j++) {
			assert_int_not_equal(probe->bases[j], BASIS_NONE);
			if (is_denial)
				assert_int_not_equal(probe->bases[j], BASIS_OUTCOME);
			if (probe->bases[j] == BASIS_NO_ROUTE)
				assert_int_equal(probe->target, CATALOG_TARGET_IPV6);
		}
	}
}

static void the_file_is_what_is_compiled_in(void **state)
{
	OWN(own_pointer) struct catalog *read = calloc(1, sizeof(*read));
	OWN(own_bytes) struct bytes bytes = {0};
	OWN(own_file) FILE *file = fopen("fixtures/catalog.json", "re");
	char text[CATALOG_LIMIT], sha256[DIGEST_TEXT_SIZE], builtin[DIGEST_TEXT_SIZE];
	struct diag diag = {0};
	size_t size;

	(void)state;
	assert_non_null(file);
	size = fread(text, 1, sizeof(text), file);
	assert_int_equal(catalog_write(catalog_builtin(), &bytes, &diag), 0);
	assert_int_equal(bytes.size, size);
	assert_memory_equal(bytes.data, text, size);
	assert_int_equal(catalog_parse(text, size, "catalog.json", read, &diag), 0);
	assert_memory_equal(read, catalog_builtin(), sizeof(*read));
	digest_bytes(text, size, sha256);
	assert_int_equal(catalog_builtin_digest(builtin, &diag), 0);
	assert_string_equal(sha256, builtin);
}

static void an_id_is_there_once(void **state)
{
	OWN(own_pointer) struct catalog *catalog = malloc(sizeof(*catalog));
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};
	char line[512];

	(void)state;
	*catalog = *catalog_builtin();
	catalog->probes[7] = catalog->probes[3];
	assert_int_equal(catalog_write(catalog, &bytes, &diag), 0);
	assert_int_equal(catalog_parse(bytes.data, bytes.size, "c", catalog, &diag),
			 -EINVAL);
	assert_string_equal(diag_render(&diag, line, sizeof(line)),
			    "c: probes[7].id: candidate.proxy.forward is twice");
}

static void dns_is_expected_as_granted(void **state)
{
	const struct catalog *catalog = catalog_builtin();
	const struct catalog_probe *worker = catalog_find(catalog, "worker.dns");
	const struct catalog_probe *daemon = catalog_find(catalog, "daemon.dns");

	(void)state;
	assert_int_equal(catalog_expectation(worker, true), EXPECT_CONNECTED);
	assert_int_equal(catalog_expectation(worker, false), EXPECT_DENIED);
	assert_int_equal(catalog_expectation(daemon, true), EXPECT_DENIED);
	assert_null(catalog_find(catalog, "worker.dn"));
}

/* printf '{"address":"192.0.2.7","port":443,"role":"trusted_tcp"}' | openssl dgst
 * -sha256 -mac HMAC -macopt hexkey:000102…1f */
static void an_endpoint_is_named_under_the_key(void **state)
{
	static const char key[] = "000102030405060708090a0b0c0d0e0f"
				  "101112131415161718191a1b1c1d1e1f";
	char one[DIGEST_TEXT_SIZE], other[DIGEST_TEXT_SIZE] = "unchanged";
	struct diag diag = {0};

	(void)state;
	assert_int_equal(endpoint_digest(key, "192.0.2.7", 443, ENDPOINT_ROLE_TRUSTED_TCP,
					 one, &diag),
			 0);
	assert_string_equal(
		one, "c5f731addf75c305f8a029ff5ab48e46dbb9346cc0dd32ba0e22221799f84205");
	assert_int_equal(endpoint_digest(key, "192.0.2.7", 443, ENDPOINT_ROLE_ROUTER,
					 other, &diag),
			 0);
	assert_string_not_equal(one, other);
	strcpy(other, "unchanged");
	assert_int_equal(endpoint_digest("00", "192.0.2.7", 443, ENDPOINT_ROLE_ROUTER,
					 other, &diag),
			 -EINVAL);
	assert_string_equal(other, "unchanged");
}

static void a_machine_is_named_by_digest(void **state)
{
	char one[DIGEST_TEXT_SIZE], other[DIGEST_TEXT_SIZE];

	(void)state;
	/* printf 0123456789abcdef0123456789abcdef | sha256sum */
	assert_int_equal(host_machine_id_digest("0123456789abcdef0123456789abcdef", one),
			 0);
	assert_string_equal(
		one, "3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9");
	assert_int_equal(
		host_machine_id_digest("0123456789abcdef0123456789abcdef\n", other), 0);
	assert_string_equal(one, other);
	assert_int_equal(
		host_machine_id_digest("0123456789abcdef0123456789abcdef\n\n", other),
		-EINVAL);
	assert_int_equal(host_machine_id_digest("0123456789ABCDEF0123456789abcdef", one),
			 -EINVAL);
	assert_int_equal(host_machine_id_digest("", one), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_the_contract),
		cmocka_unit_test(every_probe_can_be_conclusive),
		cmocka_unit_test(the_file_is_what_is_compiled_in),
		cmocka_unit_test(an_id_is_there_once),
		cmocka_unit_test(dns_is_expected_as_granted),
		cmocka_unit_test(an_endpoint_is_named_under_the_key),
		cmocka_unit_test(a_machine_is_named_by_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
