// SPDX-License-Identifier: GPL-2.0-or-later
// policy/ruleset: what the compiler writes, and that it counts what it writes.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/ruleset.h"

#define NOW 1800000000

static const struct site site = {
	.table = "netproof",
	.worker_unit = "netproof-worker.service",
	.router = {"10.203.0.1", 8443},
	.proxy = {"10.203.0.1", 3128},
};

static struct profile make_profile(size_t tcp, size_t dns, bool loopback,
				   size_t candidates)
{
	struct profile profile = {
		.issued_at_unix = NOW,
		.expires_at_unix = NOW + 280,
		.trusted_tcp_count = tcp,
		.trusted_dns_count = dns,
		.trusted_loopback_tcp = loopback,
		.candidate_tcp_count = candidates,
	};

	for (size_t i = 0; i < tcp; i++) {
		snprintf(profile.trusted_tcp[i].address, INET_TEXT_SIZE, "198.51.100.%zu",
			 i);
		profile.trusted_tcp[i].port = 443;
	}
	for (size_t i = 0; i < dns; i++) {
		snprintf(profile.trusted_dns[i].address, INET_TEXT_SIZE, "192.0.2.%zu",
			 i);
		profile.trusted_dns[i].port = 53;
	}
	for (size_t i = 0; i < candidates; i++) {
		snprintf(profile.candidate_tcp[i].address, INET_TEXT_SIZE, "10.0.0.%zu",
			 i);
		profile.candidate_tcp[i].port = 65535;
	}
	digest_bytes("profile", 7, profile.sha256);
	return profile;
}

static struct subjects make_subjects(void)
{
	struct subjects subjects = {0};
	struct diag diag = {0};

	assert_int_equal(subjects_add(&subjects, 1500, 1500, &diag), 0);
	assert_int_equal(subjects_add(&subjects, 165536, 231071, &diag), 0);
	return subjects;
}

static int64_t count(const char *text, const char *wanted)
{
	int64_t found = 0;

	for (; (text = strstr(text, wanted)); text++)
		found++;
	return found;
}

static void compile(const struct profile *profile, int64_t now_ms, enum ruleset_form form,
		    struct bytes *ret_text)
{
	struct subjects subjects = make_subjects();
	struct diag diag = {0};

	assert_int_equal(ruleset_compile(&site, profile, 1500, &subjects, now_ms, form,
					 ret_text, &diag),
			 0);
}

static void counts_are_what_is_written(void **state)
{
	(void)state;
	for (size_t tcp = 1; tcp <= PROFILE_TCP_MAX; tcp++)
		for (size_t rest = 0; rest < 12; rest++) {
			struct profile profile =
				make_profile(tcp, rest % 3, rest / 6, 1 + rest / 3 % 2);
			struct ruleset_counts counts = ruleset_count_rules(&profile);
			OWN(own_bytes) struct bytes text = {0};

			compile(&profile, NOW * 1000LL, RULESET_RELOAD, &text);
			assert_int_equal(count(text.data, "add rule inet netproof "
							  "scoped_output "),
					 counts.scoped_output);
			assert_int_equal(count(text.data, "add rule inet netproof "
							  "scoped_input "),
					 counts.scoped_input);
		}
}

/* Each line is one command of ours, ended; nothing is included or defined. */
static void every_line_is_a_command(void **state)
{
	struct profile profile = make_profile(32, 2, true, 2);
	OWN(own_bytes) struct bytes text = {0};
	char *line, *rest;

	(void)state;
	compile(&profile, NOW * 1000LL, RULESET_REPLACE, &text);
	assert_int_equal(text.data[text.size - 1], '\n');
	for (line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		static const char *const starts[] = {
			"add table inet netproof",  "delete table inet netproof",
			"add chain inet netproof ", "flush table inet netproof",
			"add set inet netproof ",   "delete set inet netproof ",
			"add rule inet netproof ",
		};
		bool is_known = false;

		for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
			is_known |= strncmp(line, starts[i], strlen(starts[i])) == 0;
		assert_true(is_known);
	}
}

/* SPEC 5.2: every allowing rule matches the wall clock and a timed set. */
static void no_grant_without_both_clocks(void **state)
{
	struct profile profile = make_profile(32, 2, true, 2);
	OWN(own_bytes) struct bytes text = {0};
	char *line, *rest;
	int accepting = 0;

	(void)state;
	compile(&profile, NOW * 1000LL, RULESET_RELOAD, &text);
	for (line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "add rule", 8) != 0)
			continue;
		if (!strstr(line, " accept")) {
			assert_non_null(strstr(line, "counter reject with icmpx "
						     "admin-prohibited"));
			continue;
		}
		accepting++;
		assert_non_null(strstr(line, " meta time 1800000000-1800000280 "));
		assert_true(strstr(line, "@lease") || strstr(line, "@worker") ||
			    strstr(line, "@daemon") || strstr(line, "@flows"));
		assert_non_null(strstr(line, " counter accept"));
	}
	assert_true(accepting > 40);
}

static void timeouts_are_what_is_left(void **state)
{
	struct profile profile = make_profile(1, 0, false, 1);
	OWN(own_bytes) struct bytes text = {0}, last = {0}, none = {0};
	struct subjects subjects = make_subjects();
	struct diag diag = {0};

	(void)state;
	compile(&profile, NOW * 1000LL + 1, RULESET_RELOAD, &text);
	assert_int_equal(count(text.data, " timeout 279999ms "), 4);
	compile(&profile, (NOW + 280) * 1000LL - 1, RULESET_RELOAD, &last);
	assert_int_equal(count(last.data, " timeout 1ms "), 4);
	assert_int_equal(ruleset_compile(&site, &profile, 1500, &subjects,
					 (NOW + 280) * 1000LL, RULESET_RELOAD, &none,
					 &diag),
			 -EINVAL);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_null(none.data);
}

static void mark_has_its_parts(void **state)
{
	struct profile profile = make_profile(1, 0, false, 1);
	uint32_t mark;

	(void)state;
	memcpy(profile.sha256, "ffffc000", 8);
	mark = ruleset_flow_mark(&profile);
	assert_int_equal(mark, MARK_OURS | 0x3ffff);
	memcpy(profile.sha256, "00003fff", 8);
	assert_int_equal(ruleset_flow_mark(&profile), MARK_OURS);
	assert_int_equal(mark & (MARK_SIDE_WORKER << MARK_SIDE_SHIFT), 0);
	assert_int_equal(mark & (MARK_SIDE_DAEMON << MARK_SIDE_SHIFT), 0);
	assert_int_equal(MARK_OURS_MASK | MARK_PROFILE_MASK |
				 (MARK_SIDE_WORKER | MARK_SIDE_DAEMON) << MARK_SIDE_SHIFT,
			 0xffffffff);
}

static void guard_is_what_it_is(void **state)
{
	static const char wanted[] =
		"add rule inet netproof output meta skuid @subjects counter reject with "
		"icmpx admin-prohibited\n"
		"add rule inet netproof marked_output meta skuid 1500 counter reject "
		"with "
		"icmpx admin-prohibited\n"
		"add rule inet netproof marked_output meta skuid 165536-231071 counter "
		"reject with icmpx admin-prohibited\n"
		"add rule inet netproof marked_output ct mark & 0xfff00000 == 0x4e500000 "
		"counter reject with icmpx admin-prohibited\n";
	struct subjects subjects = make_subjects();
	OWN(own_bytes) struct bytes text = {0};
	struct diag diag = {0};

	(void)state;
	assert_int_equal(ruleset_compile_guard("netproof", &subjects, RULESET_RELOAD,
					       &text, &diag),
			 0);
	assert_string_equal(text.data + text.size - strlen(wanted), wanted);
	assert_int_equal(count(text.data, "add rule"), 4);
	assert_int_equal(count(text.data, "accept"), 2); /* the chains' policies */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_what_is_written),
		cmocka_unit_test(every_line_is_a_command),
		cmocka_unit_test(no_grant_without_both_clocks),
		cmocka_unit_test(timeouts_are_what_is_left),
		cmocka_unit_test(mark_has_its_parts),
		cmocka_unit_test(guard_is_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
