// SPDX-License-Identifier: GPL-2.0-or-later
// policy/render and policy/layout: what is replaced, what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/layout.h"
#include "policy/render.h"

static const struct render_variable variables[] = {
	{"name", "x"}, {"name_two", "@name@"}, {"empty", ""}};

static void check_text(const char *text, const char *expected)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct diag diag = {0};

	assert_int_equal(render_text(text, strlen(text), "t", variables,
				     ARRAY_SIZE(variables), &bytes, &diag),
			 0);
	assert_string_equal(bytes.data, expected);
	assert_int_equal(bytes.size, strlen(expected));
}

static void names_become_values(void **state)
{
	(void)state;
	check_text("", "");
	check_text("plain", "plain");
	check_text("@name@", "x");
	check_text("a@name@@name@b", "axxb");
	check_text("user@@name@.service", "user@x.service");
	check_text("@empty@", "");
	check_text("@name_two@", "@name@"); /* a value is not searched again */
}

static void other_marks_stay(void **state)
{
	(void)state;
	check_text("@", "@");
	check_text("@@", "@@");
	check_text("@name", "@name");
	check_text("@system-service @name@", "@system-service x");
	check_text("@Name@", "@Name@");
	check_text("a@ name@", "a@ name@");
}

static void unknown_name_is_refused(void **state)
{
	struct bytes bytes = {0};
	struct diag diag = {0};
	char line[256];

	(void)state;
	assert_int_not_equal(render_text("@nam@", 5, "t.in", variables,
					 ARRAY_SIZE(variables), &bytes, &diag),
			     0);
	assert_null(bytes.data);
	assert_string_equal(diag_render(&diag, line, sizeof(line)),
			    "t.in: \"@nam@\" is not a variable");
}

static void plain_is_what_a_unit_takes(void **state)
{
	static const char *const others[] = {"",     "a b", "a%b", "a$b",  "a\\b",
					     "a\"b", "a'b", "a;b", "a\nb", "\xc3\xa9"};

	(void)state;
	assert_true(render_is_plain("/usr/lib/net-proof_1.0+a@b"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(render_is_plain(others[i]));
}

static struct site site_for_tests(void)
{
	struct site site = {
		.name = "netproof",
		.workload_user = "netproof",
		.runtime_dir = "/run/netproof-worker",
		.install_dir = "/usr/lib/netproof",
		.profile = "/etc/netproof/profile.json",
		.engine = {.socket = "/run/netproof/docker.sock",
			   .client_config = "/etc/netproof/docker-client"},
	};

	return site;
}

static void layout_follows_from_the_site(void **state)
{
	struct site site = site_for_tests();
	struct layout layout;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(layout_of_site(&site, "site.json", &layout, &diag), 0);
	assert_string_equal(layout.probe, "/usr/lib/netproof/net-probe");
	assert_string_equal(layout.agent_socket, "/run/netproof-worker/agent/socket");
	assert_string_equal(layout.plan, "/run/netproof-worker/plan.json");
	assert_string_equal(layout.engine_socket_dir, "/run/netproof");
	assert_string_equal(layout.state_dir, "/var/lib/netproof");
	assert_string_equal(layout.worker_group, "netproof-worker");
	assert_string_equal(layout.proxy_user, "netproof-proxy");
}

static void check_refusal(const struct site *site, const char *expected)
{
	struct layout layout;
	struct diag diag = {0};
	char line[512];

	assert_int_not_equal(layout_of_site(site, "site.json", &layout, &diag), 0);
	assert_int_equal(diag.kind, DIAG_REFUSED);
	diag_render(&diag, line, sizeof(line));
	if (!strstr(line, expected))
		assert_string_equal(line, expected);
}

static void what_no_unit_can_use_is_refused(void **state)
{
	struct site site = site_for_tests();

	(void)state;
	strcpy(site.install_dir, "/opt/net proof");
	check_refusal(&site, "site.json: install_dir: a path of letters");
	site = site_for_tests();
	strcpy(site.name, "a-name-that-is-much-too-long");
	check_refusal(&site, "site.json: name: too long");
	site = site_for_tests();
	strcpy(site.workload_user, "netproof-proxy");
	check_refusal(&site, "site.json: workload_user: the same as");
	site = site_for_tests();
	memset(site.runtime_dir, 'a', 100);
	memcpy(site.runtime_dir, "/run/", 5);
	check_refusal(&site, "site.json: runtime_dir: too long");
}

static void folders_lie_apart(void **state)
{
	struct site site = site_for_tests();

	(void)state;
	strcpy(site.engine.socket, "/run/docker.sock");
	check_refusal(&site, "site.json: engine.socket: its folder belongs to others");
	strcpy(site.engine.socket, "/run/user/990/docker.sock");
	check_refusal(&site, "site.json: engine.socket: its folder belongs to others");
	strcpy(site.engine.socket, "/run/netproof-worker/docker.sock");
	check_refusal(&site, "site.json: engine.socket: its folder must lie apart");
	strcpy(site.engine.socket, "/run/netproof-worker/engine/docker.sock");
	check_refusal(&site, "site.json: engine.socket: its folder must lie apart");
	strcpy(site.engine.socket, "/run/netproof/docker.sock");
	strcpy(site.runtime_dir, "/run/netproof/worker");
	check_refusal(&site, "site.json: engine.socket: its folder must lie apart");
	strcpy(site.runtime_dir, "/run/systemd/netproof");
	check_refusal(&site, "site.json: runtime_dir: belongs to others");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_values),
		cmocka_unit_test(other_marks_stay),
		cmocka_unit_test(unknown_name_is_refused),
		cmocka_unit_test(plain_is_what_a_unit_takes),
		cmocka_unit_test(layout_follows_from_the_site),
		cmocka_unit_test(what_no_unit_can_use_is_refused),
		cmocka_unit_test(folders_lie_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
