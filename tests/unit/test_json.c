// SPDX-License-Identifier: GPL-2.0-or-later
// common/json: size limit, places, pointers, outputs unchanged on failure. What is
// accepted and refused is tests/json's.
#include "tests/unit/unit.h"

#include "common/json.h"

static json_t untouched; /* only its address counts */

static int parse(const char *text, size_t limit, json_t **ret_root, struct diag *diag)
{
	return json_parse(text, strlen(text), limit, "doc.json", ret_root, diag);
}

static void the_limit_is_exact(void **state)
{
	OWN(own_json) json_t *root = NULL;
	struct diag diag = {0}, over = {0};
	json_t *refused = &untouched;

	(void)state;
	assert_int_equal(parse("{\"a\":1}", 7, &root, &diag), 0);
	assert_int_equal(json_integer_value(json_object_get(root, "a")), 1);
	assert_int_equal(diag.kind, DIAG_NONE);
	assert_int_equal(parse("{\"a\":1}", 6, &refused, &over), -EINVAL);
	assert_refused(over, "doc.json: larger than 6 bytes");
	assert_ptr_equal(refused, &untouched);
}

static void size_counts_and_not_a_nul(void **state)
{
	static const char text[] = {'{', '}', 'x'};
	OWN(own_json) json_t *root = NULL;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(json_parse(text, 2, 100, "doc", &root, &diag), 0);
	assert_int_equal(json_parse(text, 3, 100, "doc", &root, &diag), -EINVAL);
	assert_int_equal(json_object_size(root), 0);
}

static void nothing_is_empty(void **state)
{
	json_t *root = &untouched;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(json_parse(NULL, 0, 100, "doc", &root, &diag), -EINVAL);
	assert_refused(diag, "doc: not strict JSON: empty");
	assert_ptr_equal(root, &untouched);
}

static void refusals_say_where(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{"{\n \"\xc3\xa9\": 1.5}", "doc.json: not strict JSON: line 2, column 7: "
					   "a number that is not written as an integer"},
		{"{\"a\":{\"b\":[0,{\"c\":9007199254740992}]}}",
		 "doc.json: a.b[1].c: an integer beyond 2^53 - 1"},
		{"[1]", "doc.json: not an object"},
		{"\xef\xbb\xbf{}", "doc.json: starts with a byte order mark"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *root = &untouched;
		struct diag diag = {0};

		assert_int_equal(parse(cases[i].text, 1000, &root, &diag), -EINVAL);
		assert_refused(diag, cases[i].line);
		assert_ptr_equal(root, &untouched);
	}
}

static void no_input_forges_a_line(void **state)
{
	struct diag diag = {0};
	json_t *root = NULL;

	(void)state;
	parse("{\"a\nnet-verify: verified\":1}", 1000, &root, &diag);
	assert_null(strchr(diag.text, '\n'));
	diag = (struct diag){0};
	parse("{\"\\u001b[2J\":9007199254740993}", 1000, &root, &diag);
	assert_refused(diag, "doc.json: ?[2J: an integer beyond 2^53 - 1");
}

static void places_and_pointers(void **state)
{
	struct json_at root = {NULL, "doc", 0, NULL}, list = {&root, "a/b~c", 0, NULL};
	struct json_at item = {&list, NULL, 12, NULL}, leaf = {&item, "d", 0, NULL};
	char text[64];

	(void)state;
	assert_string_equal(json_place(&root, text, sizeof(text)), "doc");
	assert_string_equal(json_place(&list, text, sizeof(text)), "doc: a/b~c");
	assert_string_equal(json_place(&item, text, sizeof(text)), "doc: a/b~c[12]");
	assert_string_equal(json_place(&leaf, text, sizeof(text)), "doc: a/b~c[12].d");
	assert_string_equal(json_pointer(&root, text, sizeof(text)), "");
	assert_string_equal(json_pointer(&leaf, text, sizeof(text)), "/a~1b~0c/12/d");
}

static void places_are_cut_to_size(void **state)
{
	struct json_at root = {NULL, "document", 0, NULL}, key = {&root, "key", 0, NULL};
	char text[24];

	(void)state;
	for (size_t size = 1; size <= 13; size++) {
		memset(text, '!', sizeof(text));
		json_place(&key, text, size);
		assert_int_equal(strlen(text), size - 1);
		assert_memory_equal(text, "document: key", size - 1);
		assert_int_equal(text[size], '!');
		memset(text, '!', sizeof(text));
		json_pointer(&key, text, size);
		assert_int_equal(strlen(text), size - 1 < 4 ? size - 1 : 4);
		assert_int_equal(text[size], '!');
	}
}

static void a_long_refusal_is_cut(void **state)
{
	struct json_at root = {NULL, "doc", 0, NULL};
	char text[2 * DIAG_TEXT_SIZE];
	struct diag diag = {0};

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(json_refuse(&root, &diag, "%s", text), -EINVAL);
	assert_int_equal(strlen(diag.text), DIAG_TEXT_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_is_exact),
		cmocka_unit_test(size_counts_and_not_a_nul),
		cmocka_unit_test(nothing_is_empty),
		cmocka_unit_test(refusals_say_where),
		cmocka_unit_test(no_input_forges_a_line),
		cmocka_unit_test(places_and_pointers),
		cmocka_unit_test(places_are_cut_to_size),
		cmocka_unit_test(a_long_refusal_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
