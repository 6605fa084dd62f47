// SPDX-License-Identifier: GPL-2.0-or-later
// collector/journal: what was noted is there after a crash; what is not ours is not
// believed.
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "collector/journal.h"

#define SITE "/etc/netproof/site.json"
#define PLACE "/var/lib/netproof-collector/journal: "
#define BY_HAND "; undo by hand what it lists, then remove it"

struct bench {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	*state = bench;
	strcpy(bench->path, "/tmp/test-journal-XXXXXX");
	if (!mkdtemp(bench->path))
		return -1;
	bench->fd = open(bench->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return bench->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	unlinkat(bench->fd, "other", 0);
	unlinkat(bench->fd, "journal", 0);
	unlinkat(bench->fd, "journal", AT_REMOVEDIR);
	close(bench->fd);
	rmdir(bench->path);
	free(bench);
	return 0;
}

static void write_file(struct bench *bench, const void *data, size_t size)
{
	OWN(own_fd)
	int fd = openat(bench->fd, "journal", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
}

static void read_back(struct bench *bench, size_t count, struct journal *ret_journal)
{
	struct diag diag = {0};
	bool found = false;

	assert_int_equal(journal_open(bench->fd, ret_journal, &found, &diag), 0);
	assert_true(found);
	assert_int_equal(ret_journal->count, count);
}

/* Opening refuses with this line, and what was asked for is as before. */
static void assert_not_believed(struct bench *bench, const char *line)
{
	struct journal journal = JOURNAL_INIT;
	struct diag diag = {0};
	bool found = false;

	assert_true(journal_open(bench->fd, &journal, &found, &diag) < 0);
	assert_refused(diag, line);
	assert_false(found);
	assert_int_equal(journal.fd, -1);
	assert_int_equal(journal.count, 0);
}

static void test_none(void **state)
{
	struct bench *bench = *state;
	struct journal journal = JOURNAL_INIT;
	struct diag diag = {0};
	bool found = true;

	assert_int_equal(journal_exists(bench->fd, &found, &diag), 0);
	assert_false(found);
	found = true;
	assert_int_equal(journal_open(bench->fd, &journal, &found, &diag), 0);
	assert_false(found);
}

static void test_what_was_noted_is_read_back(void **state)
{
	struct bench *bench = *state;
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	OWN(journal_close) struct journal again = JOURNAL_INIT;
	struct diag diag = {0};
	bool found = false;

	assert_int_equal(journal_create(bench->fd, SITE, &journal, &diag), 0);
	for (int kind = JOURNAL_WORKER; kind < JOURNAL_KIND_COUNT; kind++)
		assert_int_equal(journal_note(&journal, (enum journal_kind)kind,
					      journal_kind_names[kind], &diag),
				 0);
	read_back(bench, JOURNAL_KIND_COUNT, &again);
	assert_int_equal(again.entries[0].kind, JOURNAL_SITE);
	assert_string_equal(again.entries[0].name, SITE);
	for (int kind = JOURNAL_WORKER; kind < JOURNAL_KIND_COUNT; kind++) {
		assert_int_equal(again.entries[kind].kind, kind);
		assert_string_equal(again.entries[kind].name, journal_kind_names[kind]);
	}
	/* And goes on where it ended. */
	assert_int_equal(journal_note(&again, JOURNAL_FILE, "/run/x", &diag), 0);
	journal_close(&again);
	read_back(bench, JOURNAL_KIND_COUNT + 1, &again);
	assert_int_equal(journal_exists(bench->fd, &found, &diag), 0);
	assert_true(found);
	assert_int_equal(journal_remove(&again, &diag), 0);
	assert_int_equal(journal_remove(&again, &diag), 0);
	assert_int_equal(journal_exists(bench->fd, &found, &diag), 0);
	assert_false(found);
}

static void test_an_earlier_one_is_not_overwritten(void **state)
{
	struct bench *bench = *state;
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	struct journal other = JOURNAL_INIT;
	struct diag diag = {0};

	assert_int_equal(journal_create(bench->fd, SITE, &journal, &diag), 0);
	assert_true(journal_create(bench->fd, "/etc/other.json", &other, &diag) < 0);
	assert_refused(diag, PLACE "an earlier collection was cut short; run "
				   "'net-collector recover' first");
	assert_int_equal(other.fd, -1);
	journal_close(&journal);
	read_back(bench, 1, &journal);
	assert_string_equal(journal.entries[0].name, SITE);
}

/* However much of the last line reached the disk: without its newline it was not made.
 * A file system may also have kept its length and lost its bytes. */
static void test_a_torn_line_was_not_made(void **state)
{
	static const char first[] = "{\"kind\":\"site\",\"name\":\"" SITE "\"}\n";
	static const char last[] = "{\"kind\":\"container\",\"name\":\"n\"}\n";
	struct bench *bench = *state;
	char text[sizeof(first) + sizeof(last)];

	for (size_t kept = 0; kept < sizeof(last); kept++) {
		for (int is_lost = 0; is_lost < 2; is_lost++) {
			OWN(journal_close) struct journal journal = JOURNAL_INIT;
			bool is_whole = kept == sizeof(last) - 1 && !is_lost;

			memcpy(text, first, sizeof(first) - 1);
			memcpy(text + sizeof(first) - 1, last, kept);
			if (is_lost)
				memset(text + sizeof(first) - 1, 0, kept);
			write_file(bench, text, sizeof(first) - 1 + kept);
			read_back(bench, is_whole ? 2 : 1, &journal);
			assert_string_equal(journal.entries[0].name, SITE);
		}
	}
}

static void test_an_empty_one_made_nothing(void **state)
{
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	struct bench *bench = *state;

	write_file(bench, "", 0);
	read_back(bench, 0, &journal);
}

static void test_lines_that_are_not_ours(void **state)
{
#define SITE_LINE "{\"kind\":\"site\",\"name\":\"/s\"}\n"
	static const struct {
		const char *text;
		size_t size;
		const char *why;
	} rows[] = {
#define ROW(text_, why_) {text_, sizeof(text_) - 1, PLACE why_ BY_HAND}
		ROW("\n", "line 1: not strict JSON: empty"),
		ROW("x\n", "line 1: not strict JSON: line 1, column 1: '[' or '{' "
			   "expected near 'x'"),
		ROW(SITE_LINE "{\"kind\":\"host\",\"name\":\"/\"}\n",
		    "line 2: kind: none of: site worker user_unit container network "
		    "folder file"),
		ROW(SITE_LINE "{\"kind\":\"file\"}\n", "line 2: name: missing"),
		ROW(SITE_LINE "{\"kind\":\"file\",\"name\":\"\"}\n",
		    "line 2: name: not of 1 to 511 bytes"),
		ROW(SITE_LINE "{\"kind\":\"file\",\"name\":\"a\",\"name\":\"b\"}\n",
		    "line 2: not strict JSON: line 1, column 32: duplicate object key "
		    "near '\"name\"'"),
		ROW(SITE_LINE "{\"kind\":\"file\",\"name\":\"a\",\"more\":1}\n",
		    "line 2: more: unknown key"),
		ROW(SITE_LINE "{\"kind\":\"file\",\"name\":\"a\"} {}\n",
		    "line 2: not strict JSON: line 1, column 28: end of file expected "
		    "near '{'"),
		ROW(SITE_LINE "{\"kind\":\"file\",\"name\":\"\\u00e9\"}\n",
		    "line 2: name: not printable ASCII without quotes or backslashes"),
		/* A byte that ends a C string hides nothing behind it. */
		ROW(SITE_LINE "\0\n" SITE_LINE,
		    "line 2: not strict JSON: line 1, column 1: a NUL byte"),
#undef ROW
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_file(bench, rows[i].text, rows[i].size);
		assert_not_believed(bench, rows[i].why);
	}
}

static void test_more_lines_than_a_collection_makes(void **state)
{
	struct bench *bench = *state;
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	struct diag diag = {0};

	assert_int_equal(journal_create(bench->fd, SITE, &journal, &diag), 0);
	while (journal.count < JOURNAL_ENTRIES_MAX)
		assert_int_equal(journal_note(&journal, JOURNAL_FILE, "/x", &diag), 0);
	assert_int_equal(journal_note(&journal, JOURNAL_FILE, "/x", &diag), -ENOSPC);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_int_equal(write(journal.fd, "{\"kind\":\"file\",\"name\":\"/x\"}\n", 29),
			 29);
	assert_not_believed(bench,
			    PLACE "line 65: more than 64; find what wrote them" BY_HAND);
}

static void test_names_that_do_not_fit(void **state)
{
	struct bench *bench = *state;
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	char name[JOURNAL_NAME_SIZE + 1];
	struct diag diag = {0};

	memset(name, 'n', sizeof(name));
	name[JOURNAL_NAME_SIZE] = '\0';
	assert_int_equal(journal_create(bench->fd, SITE, &journal, &diag), 0);
	assert_int_equal(journal_note(&journal, JOURNAL_FILE, name, &diag), -ENOSPC);
	name[JOURNAL_NAME_SIZE - 1] = '\0';
	diag = (struct diag){0};
	assert_int_equal(journal_note(&journal, JOURNAL_FILE, name, &diag), 0);
	journal_close(&journal);
	read_back(bench, 2, &journal);
	assert_string_equal(journal.entries[1].name, name);
}

/* What could not be written whole is not taken for noted, and reads as torn. */
static void test_a_full_disk(void **state)
{
	struct bench *bench = *state;
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	struct rlimit before, limit;
	struct diag diag = {0};
	struct stat status;

	assert_int_equal(journal_create(bench->fd, SITE, &journal, &diag), 0);
	assert_int_equal(fstat(journal.fd, &status), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)status.st_size + 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(journal_note(&journal, JOURNAL_FILE, "/x", &diag), -ENOSPC);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_int_equal(journal.count, 1);
	journal_close(&journal);
	read_back(bench, 1, &journal);
}

static void test_what_is_not_a_file_of_roots(void **state)
{
	static const char why[] =
		PLACE "is not a private file of root's; see what put it "
		      "there, then remove it";
	struct bench *bench = *state;
	struct journal journal = JOURNAL_INIT;
	struct diag diag = {0};
	bool found = false;

	assert_int_equal(mkfifoat(bench->fd, "journal", 0600), 0);
	assert_not_believed(bench, why);
	assert_int_equal(unlinkat(bench->fd, "journal", 0), 0);

	write_file(bench, SITE_LINE, sizeof(SITE_LINE) - 1);
	assert_int_equal(fchmodat(bench->fd, "journal", 0640, 0), 0);
	assert_not_believed(bench, why);
	assert_int_equal(fchmodat(bench->fd, "journal", 0600, 0), 0);
	assert_int_equal(linkat(bench->fd, "journal", bench->fd, "other", 0), 0);
	assert_not_believed(bench, why);
	assert_int_equal(unlinkat(bench->fd, "other", 0), 0);
	assert_int_equal(fchownat(bench->fd, "journal", 65534, 65534, 0), 0);
	assert_not_believed(bench, why);
	assert_int_equal(unlinkat(bench->fd, "journal", 0), 0);

	/* A link is not followed, and is there: it is not taken for none. */
	assert_int_equal(symlinkat("/etc/passwd", bench->fd, "journal"), 0);
	assert_int_equal(journal_exists(bench->fd, &found, &diag), 0);
	assert_true(found);
	found = false;
	assert_int_equal(journal_open(bench->fd, &journal, &found, &diag), -ELOOP);
	assert_int_equal(diag.kind, DIAG_UNDECIDED);
	assert_false(found);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_none),
		CASE(test_what_was_noted_is_read_back),
		CASE(test_an_earlier_one_is_not_overwritten),
		CASE(test_a_torn_line_was_not_made),
		CASE(test_an_empty_one_made_nothing),
		CASE(test_lines_that_are_not_ours),
		CASE(test_more_lines_than_a_collection_makes),
		CASE(test_names_that_do_not_fit),
		CASE(test_a_full_disk),
		CASE(test_what_is_not_a_file_of_roots),
	};

	/* A write past the limit is an errno, as it is past the disk's end. */
	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
