// SPDX-License-Identifier: GPL-2.0-or-later
// common/store: what its contract says of results and outputs. Faults, power cuts and
// hostile entries are in tests/store.
#include "common/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"

static char folder[] = "/run/netproof-store-unit-XXXXXX";
static struct store store = STORE_CLOSED;

static int remove_entry(const char *path, const struct stat *status, int type,
			struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static int make_store(void **state)
{
	struct diag diag = {0};

	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(store_open(folder, geteuid(), &store, &diag), 0);
	return 0;
}

static int remove_store(void **state)
{
	(void)state;
	store_close(&store);
	assert_int_equal(store.fd, -1);
	return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void an_object_is_put_once(void **state)
{
	OWN(own_bytes) struct bytes bytes = {0};
	char sha256[DIGEST_TEXT_SIZE], wanted[DIGEST_TEXT_SIZE];
	struct diag diag = {0};
	bool is_new = false;

	(void)state;
	digest_bytes("content", 7, wanted);
	assert_int_equal(store_put(&store, "content", 7, sha256, &is_new, &diag), 0);
	assert_true(is_new);
	assert_string_equal(sha256, wanted);
	assert_int_equal(store_put(&store, "content", 7, sha256, &is_new, &diag), 0);
	assert_false(is_new);
	assert_int_equal(store_get(&store, sha256, 7, &bytes, &diag), 0);
	assert_int_equal(bytes.size, 7);
	assert_string_equal(bytes.data, "content");
}

static void the_largest_and_one_more(void **state)
{
	OWN(own_pointer) char *data = calloc(1, STORE_OBJECT_LIMIT + 1);
	OWN(own_bytes) struct bytes bytes = {0};
	char sha256[DIGEST_TEXT_SIZE] = "untouched";
	struct diag large = {0}, empty = {0}, diag = {0};
	bool is_new = true;

	(void)state;
	assert_int_equal(
		store_put(&store, data, STORE_OBJECT_LIMIT + 1, sha256, &is_new, &large),
		-EINVAL);
	assert_int_equal(store_put(&store, data, 0, sha256, &is_new, &empty), -EINVAL);
	assert_string_equal(sha256, "untouched");
	assert_true(is_new);
	assert_refused(empty, "an object of 0 bytes, not 1 to 1048576");
	assert_int_equal(
		store_put(&store, data, STORE_OBJECT_LIMIT, sha256, &is_new, &diag), 0);
	assert_int_equal(store_get(&store, sha256, STORE_OBJECT_LIMIT, &bytes, &diag), 0);
	assert_int_equal(bytes.size, STORE_OBJECT_LIMIT);
}

static void what_is_not_there_changes_nothing(void **state)
{
	struct bytes bytes = {NULL, 77};
	char sha256[DIGEST_TEXT_SIZE];
	struct diag absent = {0}, odd = {0}, large = {0}, diag = {0};
	char line[256];
	bool is_new;

	(void)state;
	digest_bytes("x", 1, sha256);
	assert_int_equal(store_get(&store, sha256, 100, &bytes, &absent), -EINVAL);
	snprintf(line, sizeof(line), "%s: no such object in the store", sha256);
	assert_refused(absent, line);
	assert_int_equal(store_get(&store, "../x", 100, &bytes, &odd), -EINVAL);
	assert_refused(odd, "../x: not the name of an object, which is 64 lower-case "
			    "hexadecimal digits");
	assert_int_equal(store_put(&store, "abc", 3, sha256, &is_new, &diag), 0);
	assert_int_equal(store_get(&store, sha256, 2, &bytes, &large), -EINVAL);
	snprintf(line, sizeof(line), "%s: larger than 2 bytes", sha256);
	assert_refused(large, line);
	assert_true(!bytes.data && bytes.size == 77);
}

static void the_mode_is_not_the_umasks(void **state)
{
	OWN(own_bytes) struct bytes bytes = {0};
	char sha256[DIGEST_TEXT_SIZE];
	struct diag diag = {0};
	mode_t before = umask(0777);
	bool is_new;
	int error = store_put(&store, "abc", 3, sha256, &is_new, &diag);

	(void)state;
	umask(before);
	assert_int_equal(error, 0);
	assert_int_equal(store_get(&store, sha256, 3, &bytes, &diag), 0);
}

struct visited {
	char names[4][DIGEST_TEXT_SIZE];
	size_t count, sound, stop_at;
};

static int visit(const struct store_entry *entry, void *context)
{
	struct visited *visited = context;

	assert_true(!entry->bytes != !entry->diag);
	visited->sound += entry->bytes != NULL;
	snprintf(visited->names[visited->count], DIGEST_TEXT_SIZE, "%s", entry->name);
	return ++visited->count == visited->stop_at ? -ECANCELED : 0;
}

static void every_entry_is_visited_in_order(void **state)
{
	struct visited all = {0}, two = {.stop_at = 2};
	char sha256[DIGEST_TEXT_SIZE];
	struct diag diag = {0};
	size_t count = 77;
	bool is_new;
	int fd;

	(void)state;
	assert_int_equal(store_check(&store, visit, &all, &count, &diag), 0);
	assert_int_equal(count, 0);
	for (const char *text = "abc"; *text; text++)
		assert_int_equal(store_put(&store, text, 1, sha256, &is_new, &diag), 0);
	fd = openat(store.fd, "zz", O_CREAT | O_WRONLY | O_CLOEXEC, 0400);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(store_check(&store, visit, &all, &count, &diag), 0);
	assert_int_equal(count, 4);
	assert_int_equal(all.count, 4);
	assert_int_equal(all.sound, 3);
	for (size_t i = 1; i < all.count; i++)
		assert_true(strcmp(all.names[i - 1], all.names[i]) < 0);
	count = 77;
	assert_int_equal(store_check(&store, visit, &two, &count, &diag), -ECANCELED);
	assert_int_equal(two.count, 2);
	assert_int_equal(count, 77);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_store, remove_store)
	const struct CMUnitTest tests[] = {
		CASE(an_object_is_put_once),
		CASE(the_largest_and_one_more),
		CASE(what_is_not_there_changes_nothing),
		CASE(the_mode_is_not_the_umasks),
		CASE(every_entry_is_visited_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
