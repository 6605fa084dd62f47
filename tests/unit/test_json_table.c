// SPDX-License-Identifier: GPL-2.0-or-later
// common/json_table: each type both ways, closed key sets, outputs unchanged on
// failure, and the form for keeping.
#include "tests/unit/unit.h"

#include "common/json_table.h"

struct port {
	int64_t port;
	bool has_note;
	char note[8];
};

static const struct json_field port_fields[] = {
	{JSON_INTEGER(struct port, port, 1, 65535)},
	{JSON_TEXT(struct port, note, 0, NULL), JSON_OPTIONAL(struct port, has_note)},
};
static const struct json_table port_table = JSON_TABLE(struct port, port_fields);
static const struct json_field port_item = {JSON_ITEM_OBJECT(struct port, &port_table)};
static const struct json_field name_item = {JSON_ITEM_TEXT(6, 1, &json_rule_name)};

static const char *const colours[] = {"red", "green", "blue", NULL};

struct sample {
	int64_t count;
	bool is_on;
	char name[8];
	char path[16];
	char digest[DIGEST_TEXT_SIZE];
	int colour;
	struct port port;
	struct port ports[3];
	size_t port_count;
	char names[2][6];
	size_t name_count;
	int64_t extra;
	bool has_extra;
	struct port spare;
	bool has_spare;
};

static const struct json_field sample_fields[] = {
	{JSON_LITERAL("schema", "netproof.sample.v1")},
	{JSON_INTEGER(struct sample, count, -5, 1000)},
	{JSON_BOOLEAN(struct sample, is_on)},
	{JSON_TEXT(struct sample, name, 1, &json_rule_name)},
	{JSON_TEXT(struct sample, path, 1, &json_rule_path)},
	{JSON_DIGEST(struct sample, digest)},
	{JSON_CHOICE(struct sample, colour, colours)},
	{JSON_OBJECT(struct sample, port, &port_table)},
	{JSON_ARRAY(struct sample, ports, port_count, &port_item, 1)},
	{JSON_ARRAY(struct sample, names, name_count, &name_item, 0)},
	{JSON_INTEGER(struct sample, extra, 0, 9),
	 JSON_OPTIONAL(struct sample, has_extra)},
	{JSON_OBJECT(struct sample, spare, &port_table),
	 JSON_OPTIONAL(struct sample, has_spare)},
};
static const struct json_table sample_table = JSON_TABLE(struct sample, sample_fields);

#define SAMPLE_DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A whole document, key by key, so that a case can change one. */
static const char *const parts[][2] = {
	{"schema", "\"netproof.sample.v1\""},
	{"count", "7"},
	{"is_on", "true"},
	{"name", "\"abcdefg\""},
	{"path", "\"/a/b\""},
	{"digest", "\"" SAMPLE_DIGEST "\""},
	{"colour", "\"blue\""},
	{"port", "{\"port\":1}"},
	{"ports", "[{\"port\":2},{\"note\":\"n\",\"port\":65535}]"},
	{"names", "[\"a\",\"b-1_c\"]"},
};

/* The document with `key` set to `value`; NULL leaves it out. A new key is added. */
static char *document(const char *key, const char *value)
{
	bool is_used = !key;
	size_t used = 1;
	char *text = malloc(4096);

	strcpy(text, "{");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		bool is_this = key && strcmp(key, parts[i][0]) == 0;

		is_used |= is_this;
		if (is_this && !value)
			continue;
		used += (size_t)sprintf(text + used, "%s\"%s\":%s", used > 1 ? "," : "",
					parts[i][0], is_this ? value : parts[i][1]);
	}
	if (!is_used)
		used += (size_t)sprintf(text + used, ",\"%s\":%s", key, value);
	strcpy(text + used, "}");
	return text;
}

static int parse(const char *text, struct sample *ret_sample, struct diag *diag)
{
	return json_table_parse(text, strlen(text), 4096, "doc", &sample_table,
				ret_sample, diag);
}

static void every_type_is_decoded(void **state)
{
	OWN(own_pointer) char *text = document(NULL, NULL);
	struct sample sample;
	struct diag diag = {0};

	(void)state;
	memset(&sample, 0xaa, sizeof(sample));
	assert_int_equal(parse(text, &sample, &diag), 0);
	assert_int_equal(sample.count, 7);
	assert_true(sample.is_on);
	assert_string_equal(sample.name, "abcdefg");
	assert_string_equal(sample.path, "/a/b");
	assert_int_equal(sample.path[15], 0);
	assert_string_equal(sample.digest, SAMPLE_DIGEST);
	assert_int_equal(sample.colour, 2);
	assert_int_equal(sample.port.port, 1);
	assert_false(sample.port.has_note);
	assert_int_equal(sample.port_count, 2);
	assert_int_equal(sample.ports[1].port, 65535);
	assert_true(sample.ports[1].has_note);
	assert_string_equal(sample.ports[1].note, "n");
	assert_int_equal(sample.ports[2].port, 0);
	assert_int_equal(sample.name_count, 2);
	assert_string_equal(sample.names[1], "b-1_c");
	assert_false(sample.has_extra);
	assert_false(sample.has_spare);
}

static void optional_keys_may_be_there(void **state)
{
	OWN(own_pointer) char *extra = document("extra", "9");
	OWN(own_pointer) char *spare = document("spare", "{\"port\":5,\"note\":\"\"}");
	struct sample sample = {0};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(parse(extra, &sample, &diag), 0);
	assert_true(sample.has_extra);
	assert_int_equal(sample.extra, 9);
	assert_int_equal(parse(spare, &sample, &diag), 0);
	assert_false(sample.has_extra);
	assert_true(sample.has_spare && sample.spare.has_note);
	assert_string_equal(sample.spare.note, "");
}

static void each_refusal_has_its_place(void **state)
{
	static const struct {
		const char *key, *value, *line;
	} cases[] = {
		{"schema", NULL, "doc: schema: missing"},
		{"schema", "\"netproof.sample.v2\"",
		 "doc: schema: not \"netproof.sample.v1\""},
		{"schema", "1", "doc: schema: not \"netproof.sample.v1\""},
		{"schema", "null", "doc: schema: not \"netproof.sample.v1\""},
		{"count", NULL, "doc: count: missing"},
		{"count", "\"7\"", "doc: count: not an integer"},
		{"count", "true", "doc: count: not an integer"},
		{"count", "null", "doc: count: not an integer"},
		{"count", "[]", "doc: count: not an integer"},
		{"count", "-6", "doc: count: not from -5 to 1000"},
		{"count", "1001", "doc: count: not from -5 to 1000"},
		{"is_on", "1", "doc: is_on: neither true nor false"},
		{"is_on", "\"true\"", "doc: is_on: neither true nor false"},
		{"is_on", "null", "doc: is_on: neither true nor false"},
		{"name", "1", "doc: name: not a string"},
		{"name", "null", "doc: name: not a string"},
		{"name", "\"abcdefgh\"", "doc: name: not of 1 to 7 bytes"},
		{"name", "\"a b\"",
		 "doc: name: not a name of lower-case letters, digits, "
		 "'_' and '-' that starts with a letter"},
		{"name", "\"\"",
		 "doc: name: not a name of lower-case letters, digits, '_' "
		 "and '-' that starts with a letter"},
		{"path", "\"a/b\"", "doc: path: not a clean absolute path"},
		{"path", "\"/abcdefghijklmno\"", "doc: path: not of 1 to 15 bytes"},
		{"digest", "\"0123\"",
		 "doc: digest: not 64 lower-case hexadecimal digits"},
		{"digest", "\"" SAMPLE_DIGEST "0\"",
		 "doc: digest: not 64 lower-case hexadecimal digits"},
		{"colour", "\"Red\"", "doc: colour: none of: red green blue"},
		{"colour", "0", "doc: colour: none of: red green blue"},
		{"port", "[]", "doc: port: not an object"},
		{"port", "1", "doc: port: not an object"},
		{"port", "{}", "doc: port.port: missing"},
		{"port", "{\"port\":0}", "doc: port.port: not from 1 to 65535"},
		{"port", "{\"port\":1,\"Port\":2}", "doc: port.Port: unknown key"},
		{"port", "{\"port\":1,\"note\":null}", "doc: port.note: not a string"},
		{"port", "{\"port\":1,\"note\":\"12345678\"}",
		 "doc: port.note: not of 0 to 7 bytes"},
		{"ports", "[]", "doc: ports: not 1 to 3 items"},
		{"ports", "{}", "doc: ports: not an array"},
		{"ports", "[{\"port\":1},{\"port\":1},{\"port\":1},{\"port\":1}]",
		 "doc: ports: not 1 to 3 items"},
		{"ports", "[{\"port\":1},{\"port\":65536}]",
		 "doc: ports[1].port: not from 1 to 65535"},
		{"ports", "[{\"port\":1},2]", "doc: ports[1]: not an object"},
		{"names", "[\"a\",\"abcdef\"]", "doc: names[1]: not of 1 to 5 bytes"},
		{"names", "[\"a\",\"b\",\"c\"]", "doc: names: not 0 to 2 items"},
		{"names", "[1]", "doc: names[0]: not a string"},
		{"names", "\"a\"", "doc: names: not an array"},
		{"extra", "10", "doc: extra: not from 0 to 9"},
		{"extra", "null", "doc: extra: not an integer"},
		{"COUNT", "7", "doc: COUNT: unknown key"},
		{"", "7", "doc: : unknown key"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(own_pointer) char *text = document(cases[i].key, cases[i].value);
		struct sample sample, before;
		struct diag diag = {0};

		memset(&sample, 0x5a, sizeof(sample));
		before = sample;
		assert_int_equal(parse(text, &sample, &diag), -EINVAL);
		assert_refused(diag, cases[i].line);
		assert_memory_equal(&sample, &before, sizeof(sample));
	}
}

static void what_is_written_is_read_again(void **state)
{
	OWN(own_pointer) char *text = document("spare", "{\"note\":\"x\",\"port\":3}");
	OWN(own_bytes) struct bytes once = {0}, twice = {0};
	struct sample sample = {0}, again = {0};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(parse(text, &sample, &diag), 0);
	assert_int_equal(json_table_write(&sample_table, &sample, &once, &diag), 0);
	assert_string_equal(
		once.data,
		"{\"colour\":\"blue\",\"count\":7,\"digest\":\"" SAMPLE_DIGEST
		"\",\"is_on\":true,\"name\":\"abcdefg\",\"names\":[\"a\",\"b-1_c\"],"
		"\"path\":\"/a/b\",\"port\":{\"port\":1},\"ports\":[{\"port\":2},"
		"{\"note\":\"n\",\"port\":65535}],\"schema\":\"netproof.sample.v1\","
		"\"spare\":{\"note\":\"x\",\"port\":3}}");
	assert_int_equal(json_table_parse_kept(once.data, once.size, 4096, "doc",
					       &sample_table, &again, &diag),
			 0);
	assert_memory_equal(&sample, &again, sizeof(sample));
	assert_int_equal(json_table_write(&sample_table, &again, &twice, &diag), 0);
	assert_string_equal(once.data, twice.data);
}

static void text_that_is_not_utf8_is_not_written(void **state)
{
	struct port port = {1, true, "\xff"};
	struct bytes bytes = {NULL, 3};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(json_table_write(&port_table, &port, &bytes, &diag), -EILSEQ);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_string_equal(diag.place, "note");
	assert_null(bytes.data);
	assert_int_equal(bytes.size, 3);
}

static void kept_bytes_are_the_only_ones(void **state)
{
	static const struct {
		const char *text, *line; /* NULL: accepted */
	} cases[] = {
		{"{\"note\":\"a\",\"port\":1}", NULL},
		{"{\"port\":1,\"note\":\"a\"}", "doc: not canonical JSON (RFC 8785)"},
		{"{\"note\":\"a\",\"port\":1}\n", "doc: not canonical JSON (RFC 8785)"},
		{"{\"note\": \"a\",\"port\":1}", "doc: not canonical JSON (RFC 8785)"},
		{"{\"note\":\"\\u0061\",\"port\":1}",
		 "doc: not canonical JSON (RFC 8785)"},
		{"{\"note\":\"\\/\",\"port\":1}", "doc: not canonical JSON (RFC 8785)"},
		{"{\"note\":\"\\\"\",\"port\":1}",
		 "doc: note: not ASCII text without escapes"},
		{"{\"note\":\"\xc3\xa9\",\"port\":1}",
		 "doc: note: not ASCII text without escapes"},
		{"{\"port\":-1}", "doc: port: not an integer from 0 below 10^15"},
		{"{\"note\":\"a\",\"port\":0}", "doc: port: not from 1 to 65535"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct port port = {77, true, "before"}, before = port;
		struct diag diag = {0};
		int error = json_table_parse_kept(cases[i].text, strlen(cases[i].text),
						  4096, "doc", &port_table, &port, &diag);

		assert_int_equal(error, cases[i].line ? -EINVAL : 0);
		if (!cases[i].line)
			continue;
		assert_refused(diag, cases[i].line);
		assert_memory_equal(&port, &before, sizeof(port));
	}
}

static void rules_know_their_own(void **state)
{
	static const struct {
		const struct json_rule *rule;
		const char *text;
		bool is_valid;
	} cases[] = {
		{&json_rule_path, "/", true},
		{&json_rule_path, "/a", true},
		{&json_rule_path, "/a/...", true},
		{&json_rule_path, "/a/.b", true},
		{&json_rule_path, "/a b", true},
		{&json_rule_path, "", false},
		{&json_rule_path, "a", false},
		{&json_rule_path, "//", false},
		{&json_rule_path, "//a", false},
		{&json_rule_path, "/a/", false},
		{&json_rule_path, "/a//b", false},
		{&json_rule_path, "/.", false},
		{&json_rule_path, "/..", false},
		{&json_rule_path, "/a/.", false},
		{&json_rule_path, "/a/../b", false},
		{&json_rule_path, "/./a", false},
		{&json_rule_path, "/a\n", false},
		{&json_rule_path, "/\x7f", false},
		{&json_rule_path, "/\x01/a", false},
		{&json_rule_ipv4, "192.0.2.1", true},
		{&json_rule_ipv4, "2001:db8::1", false},
		{&json_rule_address, "192.0.2.1", true},
		{&json_rule_address, "2001:db8::1", true},
		{&json_rule_address, "2001:DB8::1", false},
		{&json_rule_address, "example.org", false},
		{&json_rule_ascii, "", true},
		{&json_rule_ascii, "a ~", true},
		{&json_rule_ascii, "a\"", false},
		{&json_rule_ascii, "a\\", false},
		{&json_rule_ascii, "\t", false},
		{&json_rule_ascii, "\xc3\xa9", false},
		{&json_rule_name, "a", true},
		{&json_rule_name, "a0_-z", true},
		{&json_rule_name, "0a", false},
		{&json_rule_name, "-a", false},
		{&json_rule_name, "A", false},
		{&json_rule_name, "a.b", false},
		{&json_rule_digest, SAMPLE_DIGEST, true},
		{&json_rule_digest, SAMPLE_DIGEST "0", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (cases[i].rule->is_valid(cases[i].text) != cases[i].is_valid)
			fail_msg("\"%s\": %s", cases[i].text, cases[i].rule->expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_decoded),
		cmocka_unit_test(optional_keys_may_be_there),
		cmocka_unit_test(each_refusal_has_its_place),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(text_that_is_not_utf8_is_not_written),
		cmocka_unit_test(kept_bytes_are_the_only_ones),
		cmocka_unit_test(rules_know_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
