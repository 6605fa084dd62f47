// SPDX-License-Identifier: GPL-2.0-or-later
// policy/pieces: one listing of several, and nothing that is not as it must be.
#include "tests/unit/unit.h"

#include "policy/pieces.h"

#define META "{\"metainfo\": {\"version\": \"1\"}}"
#define TABLE_T "{\"table\": {\"family\": \"inet\", \"name\": \"t\", \"handle\": 1}}"
#define SET_BARE "{\"set\": {\"family\": \"inet\", \"name\": \"s\", \"handle\": 4}}"
#define SET_FULL                                                                         \
	"{\"set\": {\"family\": \"inet\", \"name\": \"s\", \"handle\": 4, \"elem\": "    \
	"[1]}}"
#define CHAIN(name)                                                                      \
	"{\"chain\": {\"family\": \"inet\", \"table\": \"t\", \"name\": \"" name         \
	"\", \"handle\": 2}}"
#define RULE(name, text)                                                                 \
	"{\"rule\": {\"family\": \"inet\", \"table\": \"t\", \"chain\": \"" name         \
	"\", \"comment\": \"" text "\"}}"
#define LINE(items) "{\"nftables\": [" META items "]}\n"
#define TABLE_LINE LINE(", " TABLE_T ", " SET_BARE ", " CHAIN("a") ", " RULE("a", "x"))
#define A_LINE LINE(", " CHAIN("a") ", " RULE("a", "x") ", " RULE("a", "\\\"}], {"))
#define B_LINE LINE(", " CHAIN("b"))
#define SET_LINE LINE(", " SET_FULL)

static const char *const chains[] = {"a", "b"};

static int join(const char *text, size_t rules, size_t sets, struct bytes *ret_listing)
{
	const struct pieces pieces = {
		.table = "t",
		.chains = chains,
		.chain_count = 2,
		.set_count = sets,
		.rule_count = rules,
	};
	const struct bytes bytes = {(char *)text, strlen(text)};
	struct diag diag = {0};
	int error = pieces_join(&pieces, &bytes, ret_listing, &diag);

	assert_int_equal(diag.kind, error ? DIAG_UNDECIDED : DIAG_NONE);
	return error;
}

static void joined(void **state)
{
	OWN(own_bytes) struct bytes listing = {0};

	(void)state;
	assert_int_equal(join(TABLE_LINE A_LINE B_LINE SET_LINE, 2, 1, &listing), 0);
	assert_string_equal(
		listing.data,
		LINE(", " TABLE_T ", " SET_FULL ", " CHAIN("a") ", " CHAIN("b") ", " RULE(
			"a", "x") ", " RULE("a", "\\\"}], {")));
	assert_int_equal(listing.size, strlen(listing.data));
}

static void refused(void **state)
{
	static const struct {
		const char *text;
		size_t rules, sets;
	} rows[] = {
		{"", 2, 1},
		{"\n", 2, 1},
		/* Of rules, sets and chains, one more or less than the kernel has. */
		{TABLE_LINE A_LINE B_LINE SET_LINE, 1, 1},
		{TABLE_LINE A_LINE B_LINE SET_LINE, 3, 1},
		{TABLE_LINE A_LINE B_LINE SET_LINE, 2, 0},
		{TABLE_LINE A_LINE B_LINE SET_LINE SET_LINE, 2, 2},
		{TABLE_LINE A_LINE B_LINE, 2, 1},
		{TABLE_LINE A_LINE SET_LINE, 2, 1},
		{TABLE_LINE A_LINE B_LINE SET_LINE B_LINE, 2, 1},
		{LINE(", " TABLE_T) A_LINE B_LINE SET_LINE, 2, 1},
		/* Something else in a line's place, or beside it. */
		{TABLE_LINE B_LINE A_LINE SET_LINE, 2, 1},
		{TABLE_LINE A_LINE LINE(", " CHAIN("b") ", " RULE("a", "y")) SET_LINE, 3,
		 1},
		{TABLE_LINE A_LINE LINE(", " CHAIN("b") ", " CHAIN("b")) SET_LINE, 2, 1},
		{TABLE_LINE A_LINE LINE("") SET_LINE, 2, 1},
		{TABLE_LINE A_LINE B_LINE LINE(", " SET_FULL ", " SET_FULL), 2, 1},
		{TABLE_LINE A_LINE B_LINE LINE(", " TABLE_T), 2, 1},
		{TABLE_LINE A_LINE B_LINE LINE(""), 2, 1},
		/* Not as nft prints. */
		{"{\"nftables\": [" TABLE_T "]}\n" A_LINE B_LINE SET_LINE, 2, 1},
		{"{\"nftables\":[" META "]}\n" A_LINE B_LINE SET_LINE, 2, 1},
		{TABLE_LINE A_LINE LINE("," CHAIN("b")) SET_LINE, 2, 1},
		{TABLE_LINE A_LINE LINE(", [1]") SET_LINE, 2, 1},
		{TABLE_LINE A_LINE LINE(", " CHAIN("b") ", {\"rule\": {\"") SET_LINE, 2,
		 1},
		{TABLE_LINE A_LINE B_LINE "{\"nftables\": [" META ", " SET_FULL "]}", 2,
		 1},
		{TABLE_LINE A_LINE B_LINE "{\"nftables\": [" META ", " SET_FULL, 2, 1},
		{TABLE_LINE A_LINE B_LINE SET_LINE "\n", 2, 1},
		{"{\"nftables\": [" META ", " TABLE_T ", " SET_BARE
		 "]}" A_LINE B_LINE SET_LINE,
		 2, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		OWN(own_bytes) struct bytes listing = {0};

		if (join(rows[i].text, rows[i].rules, rows[i].sets, &listing) != -EBADMSG)
			fail_msg("row %zu", i);
		assert_null(listing.data);
	}
}

/* Wherever the text is cut, and whatever byte is lost or changed: either it is refused,
 * or the damage is inside what was moved. */
static void damaged(void **state)
{
	static const char whole[] = TABLE_LINE A_LINE B_LINE SET_LINE;
	char text[sizeof(whole)];

	(void)state;
	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		OWN(own_bytes) struct bytes cut = {0}, less = {0}, other = {0};

		memcpy(text, whole, sizeof(whole));
		text[i] = '\0';
		assert_int_equal(join(text, 2, 1, &cut), -EBADMSG);
		memmove(text + i, whole + i + 1, sizeof(whole) - i - 1);
		join(text, 2, 1, &less);
		memcpy(text, whole, sizeof(whole));
		text[i] = '}';
		if (join(text, 2, 1, &other) == 0)
			assert_true(other.size < sizeof(whole));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joined),
		cmocka_unit_test(refused),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
