// SPDX-License-Identifier: GPL-2.0-or-later
// agent/handles: 64 places, numbers that are never reused, ends that are remembered.
#include "tests/unit/unit.h"

#include <fcntl.h>

#include "agent/handles.h"
#include "common/clock.h"

static struct handles handles;

static int prepare(void **state)
{
	(void)state;
	memset(&handles, 0, sizeof(handles));
	handles_init(&handles);
	return 0;
}

static int tidy(void **state)
{
	(void)state;
	handles_close(&handles);
	return 0;
}

static struct handle *open_one(char kind, struct expiry expiry)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct handle *handle =
		handles_open(&handles, kind, handles_issue(&handles), fd, expiry);

	if (!handle)
		close(fd);
	return handle;
}

static void places_are_64(void **state)
{
	struct handle *handle = NULL;

	(void)state;
	for (int i = 0; i < HANDLES_MAX; i++)
		assert_non_null(open_one('c', EXPIRY_NEVER));
	assert_null(open_one('c', EXPIRY_NEVER));
	assert_int_equal(handles.open_count, HANDLES_MAX);
	handles_end(&handles, &handles.places[5], OUTCOME_RESET);
	handle = open_one('l', EXPIRY_NEVER);
	assert_ptr_equal(handle, &handles.places[5]);
	/* 65 were issued, one of them for nothing. */
	assert_int_equal(handle->number, 66);
}

static void ends_are_remembered_by_kind(void **state)
{
	struct handle *connection = open_one('c', EXPIRY_NEVER), *found = NULL;
	struct handle *listener = open_one('l', EXPIRY_NEVER);
	enum outcome ended = OUTCOME_COUNT;

	(void)state;
	assert_int_equal(handles_find(&handles, "c1", &found, &ended), 0);
	assert_ptr_equal(found, connection);
	assert_int_equal(handles_find(&handles, "l1", &found, &ended), -ENOENT);
	assert_int_equal(handles_find(&handles, "c2", &found, &ended), -ENOENT);
	assert_int_equal(handles_find(&handles, "c3", &found, &ended), -ENOENT);
	handles_end(&handles, connection, OUTCOME_CONNECTED); /* the first outcome: 0 */
	handles_end(&handles, listener, OUTCOME_PROBE_ERROR); /* and the last */
	assert_int_equal(handles_find(&handles, "c1", &found, &ended), 1);
	assert_int_equal(ended, OUTCOME_CONNECTED);
	assert_int_equal(handles_find(&handles, "l2", &found, &ended), 1);
	assert_int_equal(ended, OUTCOME_PROBE_ERROR);
	assert_int_equal(handles_find(&handles, "l1", &found, &ended), -ENOENT);
	assert_int_equal(handles_find(&handles, "c2", &found, &ended), -ENOENT);
	assert_int_equal(handles.open_count, 0);
}

static void either_clock_ends_a_grant(void **state)
{
	int64_t wall = clock_wall_ms(), boot = clock_boot_ms();
	enum { LATER = 1000 * 1000 };

	(void)state;
	assert_false(expiry_is_over(EXPIRY_NEVER));
	assert_false(expiry_is_over((struct expiry){wall + LATER, boot + LATER}));
	assert_true(expiry_is_over((struct expiry){wall, boot + LATER}));
	assert_true(expiry_is_over((struct expiry){wall + LATER, boot}));
	assert_true(expiry_is_over((struct expiry){wall, INT64_MAX}));
}

static void expired_ones_end_as_closed_and_no_others(void **state)
{
	struct expiry over = {0, 0}, later = {INT64_MAX - 1, INT64_MAX - 2};
	struct expiry next;
	struct handle *found;
	enum outcome ended = OUTCOME_COUNT;

	(void)state;
	open_one('c', over);
	open_one('l', over);
	open_one('c', EXPIRY_NEVER);
	open_one('c', later);
	handles_end_expired(&handles);
	assert_int_equal(handles.open_count, 2);
	assert_int_equal(handles_find(&handles, "c1", &found, &ended), 1);
	assert_int_equal(ended, OUTCOME_CLOSED);
	assert_int_equal(handles_find(&handles, "l2", &found, &ended), 1);
	assert_int_equal(handles_find(&handles, "c3", &found, &ended), 0);
	next = handles_next_expiry(&handles);
	assert_int_equal(next.wall_ms, later.wall_ms);
	assert_int_equal(next.boot_ms, later.boot_ms);
}

static void boot_deadline_is_fixed_on_receipt(void **state)
{
	int64_t now = clock_wall_ms() / 1000;
	struct expiry expiry = expiry_from_now(now + 60);
	int64_t left = expiry.boot_ms - clock_boot_ms();

	(void)state;
	assert_int_equal(expiry.wall_ms, (now + 60) * 1000);
	/* Rounding aside, as far away as on the wall clock. */
	assert_true(left <= 60 * 1000 && left > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, tidy)
	const struct CMUnitTest tests[] = {
		TEST(places_are_64),
		TEST(ends_are_remembered_by_kind),
		TEST(either_clock_ends_a_grant),
		TEST(expired_ones_end_as_closed_and_no_others),
		TEST(boot_deadline_is_fixed_on_receipt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
