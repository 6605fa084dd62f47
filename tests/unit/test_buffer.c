// SPDX-License-Identifier: GPL-2.0-or-later
// common/buffer: all that was added comes out, in one piece with a NUL after it.
#include "tests/unit/unit.h"

#include "common/buffer.h"

static void nothing_is_an_empty_text(void **state)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	buffer_add(&buffer, NULL, 0);
	assert_int_equal(buffer_take(&buffer, &bytes, &diag), 0);
	assert_non_null(bytes.data);
	assert_int_equal(bytes.size, 0);
	assert_string_equal(bytes.data, "");
	assert_null(buffer.bytes.data);
}

static void every_length_comes_out(void **state)
{
	char expected[1200];

	(void)state;
	for (size_t i = 0; i < sizeof(expected); i++)
		expected[i] = (char)('a' + i % 26);
	for (size_t size = 0; size < sizeof(expected); size++) {
		OWN(own_buffer) struct buffer buffer = {0};
		OWN(own_bytes) struct bytes bytes = {0};
		struct diag diag = {0};
		size_t half = size / 2;

		buffer_add(&buffer, expected, half);
		if (half < size)
			buffer_add_byte(&buffer, expected[half]);
		if (half + 1 < size)
			buffer_print(&buffer, "%.*s", (int)(size - half - 1),
				     expected + half + 1);
		assert_int_equal(buffer_take(&buffer, &bytes, &diag), 0);
		assert_int_equal(bytes.size, size);
		assert_memory_equal(bytes.data, expected, size);
		assert_int_equal(bytes.data[size], '\0');
	}
}

static void a_nul_is_a_byte(void **state)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	(void)state;
	buffer_add(&buffer, "a\0b", 3);
	assert_int_equal(buffer_take(&buffer, &bytes, &diag), 0);
	assert_int_equal(bytes.size, 3);
	assert_memory_equal(bytes.data, "a\0b", 4);
}

static void a_size_beyond_memory_is_remembered(void **state)
{
	OWN(own_buffer) struct buffer buffer = {0};
	struct bytes bytes = {NULL, 77};
	struct diag diag = {0};

	(void)state;
	buffer_add(&buffer, "x", 1);
	buffer_add(&buffer, "x", SIZE_MAX);
	buffer_add(&buffer, "y", 1);
	assert_int_equal(buffer_take(&buffer, &bytes, &diag), -ENOMEM);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_null(bytes.data);
	assert_int_equal(bytes.size, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_an_empty_text),
		cmocka_unit_test(every_length_comes_out),
		cmocka_unit_test(a_nul_is_a_byte),
		cmocka_unit_test(a_size_beyond_memory_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
