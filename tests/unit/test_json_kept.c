// SPDX-License-Identifier: GPL-2.0-or-later
// common/json_kept: it accepts exactly what the way through a tree accepts, with the
// same result: every byte of a document changed to every value, dropped, doubled,
// and cut off there.
#include "tests/unit/kept_sample.h"
#include "tests/unit/unit.h"

static const char *const documents[] = {
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"other\",\"items\":[{\"flag\":false,\"text\":\"abcdefg\"},"
	"{\"flag\":true,\"text\":\" ~\"},{\"flag\":true,\"text\":\"x\"}],"
	"\"names\":[\"a\",\"abc\"],\"note\":\"12345\",\"num\":7,\"number\":"
	"999999999999999,"
	"\"part\":{\"flag\":false,\"text\":\"p\"},\"path\":\"/a/bc/d.e/fgh\","
	"\"schema\":\"s\"}",
};

/* Documents of which none is whole, canonical and within the table's limits. */
static const char *const others[] = {
	"",
	"{}",
	"{",
	"[]",
	"{\"choice\":\"one\"}",
	"{\"choice\":\"one\",\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}]"
	",\"names\":[],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"items\":[{\"flag\":true,\"text\":\"\"}],\"choice\":\"one\",\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"number\":0,\"num\":7,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[],\"names\":[],\"num\":7,\"number\":0,\"path\":"
	"\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[\"a\","
	"\"b\",\"c\"],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"},{\"flag\":true,"
	"\"text\":\"\"},{\"flag\":true,\"text\":\"\"},{\"flag\":true,\"text\":\"\"}],"
	"\"names\":[],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":00,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":1000000000000000,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":-1,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":2,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":13,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":1.0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":1e2,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":null,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/\\u0061\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"note\":\"\",\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"note\":\"123456\",\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[\"\"],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":["
	"\"abcd\"],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[\"A\"],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a/\",\"schema\":\"s\"}",
	"{\"choice\":\"on\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"oneone\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],\"num\":"
	"7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":1,\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],\"num\":7,"
	"\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\",\"z\":1}",
	"{\"Choice\":1,\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],"
	"\"names\":[],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"\":1,\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":["
	"],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"part\":{},\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"part\":[],\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"part\":{\"flag\":true},\"path\":\"/"
	"a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"part\":{\"flag\":1,\"text\":\"\"},\"path\":\"/"
	"a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":{\"flag\":true,\"text\":\"\"},\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"},],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[,{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}{\"flag\":true,"
	"\"text\":\"\"}],\"names\":[],\"num\":7,\"number\":0,\"path\":\"/"
	"a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"ss\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":1}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"names\":[],\"num\":7,\"number\":0,\"path\":\"/"
	"a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"} ",
	" {\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/"
	"a\",\"schema\":\"s\"}{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":"
	"\"\"}],\"names\":[],\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\"}",
	"{\"choice\":\"one\",\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],"
	"\"num\":7,\"number\":0,\"path\":\"/a\",\"schema\":\"s\",}",
	"{\"choice\":\"one\", "
	"\"items\":[{\"flag\":true,\"text\":\"\"}],\"names\":[],\"num\":7,\"number\":0,"
	"\"path\":\"/a\",\"schema\":\"s\"}",
};

/* Whether both accept `data`, or neither. */
static bool both(const char *data, size_t size)
{
	struct kept_sample quick, tree;
	bool is_read = kept_sample_read(data, size, &quick);
	bool is_tree = kept_sample_read_tree(data, size, &tree);

	if (is_read != is_tree)
		fail_msg("%.*s: quick %d, tree %d", (int)size, data, is_read, is_tree);
	if (is_read)
		assert_memory_equal(&quick, &tree, sizeof(quick));
	return is_read;
}

static void documents_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
		assert_true(both(documents[i], strlen(documents[i])));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(both(others[i], strlen(others[i])));
}

static void every_byte_every_value(void **state)
{
	char text[1024];
	size_t accepted = 0, size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		size = strlen(documents[i]);
		for (size_t at = 0; at < size; at++)
			for (int value = 0; value < 256; value++) {
				memcpy(text, documents[i], size);
				text[at] = (char)value;
				accepted += both(text, size);
			}
	}
	/* The document itself, as often as it has bytes, and other values of it. */
	assert_true(accepted > 1000);
}

static void every_byte_dropped_doubled_and_last(void **state)
{
	char text[1024];
	size_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		size = strlen(documents[i]);
		for (size_t at = 0; at < size; at++) {
			assert_false(both(documents[i], at));
			memcpy(text, documents[i], at);
			memcpy(text + at, documents[i] + at + 1, size - at - 1);
			both(text, size - 1);
			memcpy(text, documents[i], at + 1);
			memcpy(text + at + 1, documents[i] + at, size - at);
			both(text, size + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_read),
		cmocka_unit_test(every_byte_every_value),
		cmocka_unit_test(every_byte_dropped_doubled_and_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
