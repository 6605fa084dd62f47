// SPDX-License-Identifier: GPL-2.0-or-later
// policy/subjects, and policy/kernel/subuid: every uid that is certain, and no other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/own.h"
#include "policy/kernel/subuid.h"

static char folder[] = "/run/netproof-unit-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/subuid", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void write_file(const char *text)
{
	OWN(own_file) FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fchmod(fileno(file), 0644), 0);
	assert_true(fputs(text, file) >= 0);
}

static void assert_ranges(const struct subjects *subjects, const char *wanted)
{
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < subjects->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u-%u",
					 i ? " " : "", subjects->ranges[i].first,
					 subjects->ranges[i].last);
	assert_string_equal(text, wanted);
}

static void read_ranges(void **state)
{
	static const struct {
		const char *text, *ranges;
	} cases[] = {
		{"", "1500-1500"},
		{"user:100000:65536\n", "1500-1500 100000-165535"},
		{"user:100000:65536", "1500-1500 100000-165535"},
		{"1500:100000:10\nuser:200000:1\n",
		 "1500-1500 100000-100009 200000-200000"},
		{"user:1501:10\n", "1500-1510"},
		{"user:100000:10\nuser:100010:10\nuser:100005:3\n",
		 "1500-1500 100000-100019"},
		{"other:1:65536\nusers:5:5\nuse:5:5\n15000:5:5\n:5:5\n", "1500-1500"},
		{"#user:100000:5\n\n user:7:7\nuser\nother:bad\n", "1500-1500"},
		{"user:100000:0\n", "1500-1500"},
		{"user:4294967294:1\n", "1500-1500 4294967294-4294967294"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct subjects subjects = {0};
		struct diag diag = {0};

		write_file(cases[i].text);
		assert_int_equal(subuid_read(path, "user", 1500, &subjects, &diag), 0);
		assert_ranges(&subjects, cases[i].ranges);
	}
}

/* What newuidmap may read otherwise is refused; what is certain is kept. */
static void doubtful_lines(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"user:0x186a0:65536\n", "line 1: not plain decimal numbers"},
		{"user:0100000:65536\n", "line 1: not plain decimal numbers"},
		{"a:1:1\nuser:+100000:65536\n", "line 2: not plain decimal numbers"},
		{"user:100000: 65536\n", "line 1: not plain decimal numbers"},
		{"user:100000:-1\n", "line 1: not plain decimal numbers"},
		{"user:0:65536\n", "line 1: not plain decimal numbers"},
		{"user:4294967295:1\n", "line 1: not plain decimal numbers"},
		{"user:4294967294:2\n", "line 1: runs past the last uid"},
		{"user:100000\n", "line 1: not NAME:FIRST:COUNT"},
		{"user:100000:1:\n", "line 1: not NAME:FIRST:COUNT"},
		{"user:\n", "line 1: not NAME:FIRST:COUNT"},
		{"user::\n", "line 1: not plain decimal numbers"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct subjects subjects = {0};
		struct diag diag = {0};
		char text[128], line[DIAG_PLACE_SIZE + DIAG_TEXT_SIZE];

		snprintf(text, sizeof(text), "%suser:300000:5\n", cases[i].text);
		write_file(text);
		assert_int_not_equal(subuid_read(path, "user", 1500, &subjects, &diag),
				     0);
		assert_int_equal(diag.kind, DIAG_REFUSED);
		diag_render(&diag, line, sizeof(line));
		assert_non_null(strstr(line, cases[i].said));
		assert_ranges(&subjects, "1500-1500 300000-300004");
	}
}

static void files_that_cannot_be_trusted(void **state)
{
	struct subjects subjects = {0};
	struct diag diag = {0}, second = {0}, none = {0};

	(void)state;
	write_file("user:100000:5\n");
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_not_equal(subuid_read(path, "user", 1500, &subjects, &diag), 0);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_ranges(&subjects, "1500-1500");
	assert_int_not_equal(subuid_read(path, "user", 0, &subjects, &second), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(subuid_read(path, "user", 1500, &subjects, &none), 0);
	assert_ranges(&subjects, "1500-1500");
}

static void name_service_switch(void **state)
{
	static const struct {
		const char *text;
		bool is_taken;
	} cases[] = {
		{"", true},
		{"passwd: files systemd\n", true},
		{"subid: files\n", true},
		{"  subid :\tfiles  # sss\n", true},
		{"#subid: sss\n", true},
		{"subid: sss\n", false},
		{"subid: files sss\n", false},
		{"subid:sss\n", false},
		{"subid:\n", false},
		{"passwd: files\nsubid: filesystem\n", false},
		{"subids: sss\n", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diag diag = {0};

		write_file(cases[i].text);
		assert_int_equal(subuid_check_switch(path, &diag) == 0,
				 cases[i].is_taken);
		assert_int_equal(diag.kind, cases[i].is_taken ? DIAG_NONE : DIAG_REFUSED);
	}
}

static void ranges_have_one_form(void **state)
{
	struct subjects subjects = {0}, before;
	struct diag diag = {0};

	(void)state;
	for (uint32_t i = 0; i < SUBJECTS_RANGES_MAX; i++)
		assert_int_equal(subjects_add(&subjects, 10 * i + 1, 10 * i + 5, &diag),
				 0);
	before = subjects;
	assert_int_not_equal(subjects_add(&subjects, 5000, 5000, &diag), 0);
	assert_memory_equal(&subjects, &before, sizeof(subjects));
	/* One that joins others makes room. */
	diag = (struct diag){0};
	assert_int_equal(subjects_add(&subjects, 6, 20, &diag), 0);
	assert_int_equal(subjects.count, SUBJECTS_RANGES_MAX - 2);
	assert_int_equal(subjects.ranges[0].first, 1);
	assert_int_equal(subjects.ranges[0].last, 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_ranges),
		cmocka_unit_test(doubtful_lines),
		cmocka_unit_test(files_that_cannot_be_trusted),
		cmocka_unit_test(name_service_switch),
		cmocka_unit_test(ranges_have_one_form),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
