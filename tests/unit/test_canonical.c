// SPDX-License-Identifier: GPL-2.0-or-later
// common/canonical: depth, floats, digests, and the form for keeping. The bytes of
// thousands of documents are tests/json's.
#include "tests/unit/unit.h"

#include "common/canonical.h"
#include "common/json.h"

static json_t *nested(unsigned int depth, json_t *inner)
{
	while (depth--) {
		json_t *outer = json_array();

		json_array_append_new(outer, inner);
		inner = outer;
	}
	return inner;
}

static void depth_is_bounded(void **state)
{
	OWN(own_json) json_t *deepest = nested(JSON_MAX_DEPTH, json_true());
	OWN(own_json) json_t *empty = nested(JSON_MAX_DEPTH, json_array());
	OWN(own_json) json_t *object = nested(JSON_MAX_DEPTH, json_object());
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag good = {0}, bad = {0}, worse = {0};
	struct bytes unchanged = {NULL, 5};

	(void)state;
	assert_int_equal(canonical_write(deepest, &bytes, &good), 0);
	assert_string_equal(bytes.data, "[[[[[[[[[[[[[[[[true]]]]]]]]]]]]]]]]");
	assert_int_equal(bytes.size, strlen(bytes.data));
	assert_int_equal(canonical_write(empty, &unchanged, &bad), -EINVAL);
	assert_refused(bad, "nested deeper than 16");
	assert_int_equal(canonical_write(object, &unchanged, &worse), -EINVAL);
	assert_null(unchanged.data);
	assert_int_equal(unchanged.size, 5);
}

static void a_float_is_refused(void **state)
{
	OWN(own_json) json_t *value = json_pack("{s:f}", "a", 1.0);
	struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(canonical_write(value, &bytes, &diag), -EINVAL);
	assert_refused(diag, "a number that is not an integer");
	assert_null(bytes.data);
}

static void a_digest_is_over_the_bytes(void **state)
{
	OWN(own_json) json_t *value = json_pack("{s:i,s:s}", "b", 1, "a", "x");
	char digest[DIGEST_TEXT_SIZE], expected[DIGEST_TEXT_SIZE];
	struct diag diag = {0};

	(void)state;
	digest_bytes("{\"a\":\"x\",\"b\":1}", 15, expected);
	assert_int_equal(canonical_digest(value, digest, &diag), 0);
	assert_string_equal(digest, expected);
}

static void a_digest_changes_only_on_success(void **state)
{
	OWN(own_json) json_t *value = json_real(0.5);
	char digest[DIGEST_TEXT_SIZE] = "as before";
	struct diag diag = {0};

	(void)state;
	assert_int_equal(canonical_digest(value, digest, &diag), -EINVAL);
	assert_string_equal(digest, "as before");
}

static void the_kept_form_is_narrow(void **state)
{
	static const struct {
		const char *text, *refusal; /* NULL: kept */
	} cases[] = {
		{"{}", NULL},
		{"{\"a_b-c\":[0,1,999999999999999,true,false,\"x y~\",{\"0\":\"\"}]}",
		 NULL},
		{"{\"a\":1000000000000000}", "r: a: not an integer from 0 below 10^15"},
		{"{\"a\":-1}", "r: a: not an integer from 0 below 10^15"},
		{"{\"a\":[{\"b\":-1}]}", "r: a[0].b: not an integer from 0 below 10^15"},
		{"{\"a\":null}", "r: a: null or a float in a document for keeping"},
		{"{\"a\":\"\\u00e9\"}", "r: a: not ASCII text without escapes"},
		{"{\"a\":\"\\n\"}", "r: a: not ASCII text without escapes"},
		{"{\"a\":\"\\\"\"}", "r: a: not ASCII text without escapes"},
		{"{\"a\":\"\\\\\"}", "r: a: not ASCII text without escapes"},
		{"{\"a\":\"\\u007f\"}", "r: a: not ASCII text without escapes"},
		{"{\"\\u00e9\":1}", "r: a key that is not plain ASCII"},
		{"{\"a\":{\"b\\\"\":1}}", "r: a: a key that is not plain ASCII"},
		{"{\"aB\":1}", "r: aB: a key with an upper-case letter"},
		{"{\"a\":[[{\"Z\":1}]]}",
		 "r: a[0][0].Z: a key with an upper-case letter"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(own_json) json_t *value = json_loads(cases[i].text, 0, NULL);
		struct diag diag = {0};
		int error = canonical_check_kept(value, "r", &diag);

		assert_int_equal(error, cases[i].refusal ? -EINVAL : 0);
		if (cases[i].refusal)
			assert_refused(diag, cases[i].refusal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(a_float_is_refused),
		cmocka_unit_test(a_digest_is_over_the_bytes),
		cmocka_unit_test(a_digest_changes_only_on_success),
		cmocka_unit_test(the_kept_form_is_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
