// SPDX-License-Identifier: GPL-2.0-or-later
// Which properties of a unit are refused, and by what name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/unit_rules.h"

static const struct site site = {
	.workload_user = "jobs", .guard_unit = "g.service", .runtime_dir = "/run/w"};
static const struct layout layout = {.worker_group = "jobs-worker"};

struct pair {
	const char *name, *value;
};

/* What the rendered template comes to. */
static const struct pair worker[] = {
	{"BindsTo", "[\"g.service\"]"},
	{"Environment", "[\"LANG=C.UTF-8\" \"TZ=UTC\"]"},
	{"Group", "\"jobs-worker\""},
	{"RuntimeDirectory", "[\"w/agent\"]"},
	{"RuntimeDirectoryMode", "448"},
	{"Slice", "\"system.slice\""},
	{"StandardInput", "\"null\""},
	{"StartLimitIntervalUSec", "0"},
	{"TimeoutStartUSec", "120000000"},
	{"TimeoutStopUSec", "420000000"},
	{"Type", "\"exec\""},
	{"UMask", "63"},
	{"User", "\"jobs\""},
	{"WorkingDirectory", "\"/\""},
	{"CapabilityBoundingSet", "0"},
	{"DevicePolicy", "\"closed\""},
	{"LockPersonality", "true"},
	{"MemoryDenyWriteExecute", "true"},
	{"NoNewPrivileges", "true"},
	{"PrivateDevices", "true"},
	{"PrivateIPC", "true"},
	{"PrivateMounts", "true"},
	{"PrivateTmp", "true"},
	{"ProcSubset", "\"pid\""},
	{"ProtectClock", "true"},
	{"ProtectControlGroups", "true"},
	{"ProtectHome", "\"yes\""},
	{"ProtectHostname", "true"},
	{"ProtectKernelLogs", "true"},
	{"ProtectKernelModules", "true"},
	{"ProtectKernelTunables", "true"},
	{"ProtectProc", "\"invisible\""},
	{"ProtectSystem", "\"strict\""},
	{"RestrictNamespaces", "0"},
	{"RestrictRealtime", "true"},
	{"RestrictSUIDSGID", "true"},
	{"SystemCallArchitectures", "[\"native\"]"},
	{"SystemCallFilter", "(true [\"connect\" \"socket\"])"},
};

/* Both have these, and alike. */
static const struct pair common[] = {
	{"IPAddressDeny", "[]"},
	{"KillMode", "\"control-group\""},
	{"MainPID", "0"},
	{"Nice", "0"},
	{"OfALaterSystemd", "false"},
	{"PrivateNetwork", "false"},
	{"Restart", "\"no\""},
	{"RestrictAddressFamilies", "(false [])"},
	{"SystemCallErrorNumber", "2147483646"},
};

/* Adds what is in `pairs`, with `name` as `value` instead, or without it. */
static void add_all(struct unit_properties *properties, const struct pair *pairs,
		    size_t count, const char *name, const char *value)
{
	struct diag diag = {0};

	for (size_t i = 0; i < count; i++) {
		bool is_it = name && strcmp(pairs[i].name, name) == 0;

		if (is_it && !value)
			continue;
		assert_int_equal(unit_properties_add(properties, pairs[i].name,
						     is_it ? value : pairs[i].value,
						     &diag),
				 0);
	}
}

/* Judges the template with one property changed; `ret_diag` may be NULL. */
static int judge(const char *name, const char *value, struct diag *diag)
{
	struct unit_properties properties = {0}, defaults = {0};
	int error;

	*diag = (struct diag){0};
	add_all(&properties, worker, ARRAY_SIZE(worker), name, value);
	add_all(&properties, common, ARRAY_SIZE(common), name, value);
	add_all(&defaults, common, ARRAY_SIZE(common), NULL, NULL);
	error = unit_rules_judge_worker("w.service", &properties, &defaults, &site,
					&layout, diag);
	unit_properties_release(&properties);
	unit_properties_release(&defaults);
	return error;
}

static void assert_refused(const char *name, const char *value)
{
	struct diag diag;
	char words[128];

	if (judge(name, value, &diag) == 0)
		fail_msg("%s=%s is not refused", name, value ? value : "(nothing)");
	assert_int_equal(diag.kind, DIAG_REFUSED);
	assert_string_equal(diag.place, "w.service");
	snprintf(words, sizeof(words), "its %s is ", name);
	if (strncmp(diag.text, words, strlen(words)) != 0)
		fail_msg("%s: refused as '%s'", name, diag.text);
}

static void test_the_template_passes(void **state)
{
	struct diag diag;

	(void)state;
	if (judge(NULL, NULL, &diag))
		fail_msg("%s", diag.text);
}

static void test_each_property_refuses_when_it_is_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(worker); i++) {
		if (strcmp(worker[i].name, "SystemCallFilter") == 0)
			continue;
		assert_refused(worker[i].name, "\"other\"");
		assert_refused(worker[i].name, NULL);
	}
}

static void test_what_has_a_default_refuses_when_it_is_set(void **state)
{
	static const char *const names[] = {
		"IPAddressDeny",        "KillMode", "OfALaterSystemd",
		"PrivateNetwork",       "Restart",  "RestrictAddressFamilies",
		"SystemCallErrorNumber"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_refused(names[i], "\"set\"");
}

static void test_state_and_limits_do_not_matter(void **state)
{
	struct diag diag;

	(void)state;
	assert_int_equal(judge("MainPID", "77", &diag), 0);
	assert_int_equal(judge("Nice", "5", &diag), 0);
}

/* A call that is missing kills; one that fails would look like a denial. */
static void test_a_filter_may_kill_and_not_err(void **state)
{
	struct diag diag;

	(void)state;
	assert_int_equal(judge("SystemCallFilter", "(true [\"socket\"])", &diag), 0);
	assert_int_equal(judge("SystemCallFilter", "(false [])", &diag), 0);
	assert_refused("SystemCallFilter", "(false [\"connect:EPERM\"])");
}

/* Another's unit is asked about sockets alone, and an old systemd knows less. */
static void test_units_of_others(void **state)
{
	static const struct pair own[] = {{"User", "\"1000\""},
					  {"PrivateNetwork", "no"},
					  {"SystemCallFilter", "~ @mount"}};
	static const struct pair bad[] = {{"PrivateNetwork", "yes"},
					  {"SystemCallFilter", ""}};
	static const struct pair standard[] = {{"PrivateNetwork", "no"},
					       {"SystemCallFilter", ""}};
	struct unit_properties properties = {0}, defaults = {0}, set = {0};
	struct diag diag = {0};

	(void)state;
	add_all(&properties, own, ARRAY_SIZE(own), NULL, NULL);
	add_all(&set, bad, ARRAY_SIZE(bad), NULL, NULL);
	add_all(&defaults, standard, ARRAY_SIZE(standard), NULL, NULL);
	assert_int_equal(
		unit_rules_judge_sockets("u.service", &properties, &defaults, &diag), 0);
	assert_int_not_equal(
		unit_rules_judge_sockets("u.service", &set, &defaults, &diag), 0);
	assert_non_null(strstr(diag.text, "its PrivateNetwork is yes, not no"));
	assert_non_null(strstr(diag.text, "a failed probe could mean that"));
	unit_properties_release(&properties);
	unit_properties_release(&defaults);
	unit_properties_release(&set);
}

static void test_free_properties_are_not_digested(void **state)
{
	const char *name;
	size_t count = 0, sockets = 0;

	(void)state;
	for (; (name = unit_rules_digested(count)); count++) {
		assert_null(strchr(name, '*'));
		assert_string_not_equal(name, "MainPID");
	}
	while (unit_rules_socket_property(sockets))
		sockets++;
	assert_true(count > 40 && sockets > 10 && sockets < count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_template_passes),
		cmocka_unit_test(test_each_property_refuses_when_it_is_another),
		cmocka_unit_test(test_what_has_a_default_refuses_when_it_is_set),
		cmocka_unit_test(test_state_and_limits_do_not_matter),
		cmocka_unit_test(test_a_filter_may_kill_and_not_err),
		cmocka_unit_test(test_units_of_others),
		cmocka_unit_test(test_free_properties_are_not_digested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
