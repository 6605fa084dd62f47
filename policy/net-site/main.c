// SPDX-License-Identifier: GPL-2.0-or-later
// net-site: checks a site file, renders its units.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/json_table.h"
#include "common/number.h"
#include "policy/layout.h"
#include "policy/net-site/installed.h"
#include "policy/net-site/tree.h"
#include "policy/net-site/units.h"
#include "policy/site.h"

#define UID_MAX 4294967294U /* 4294967295 is nobody: (uid_t)-1 */

/* What `check` says (netproof.site_check.v1). */
static const char *const states[] = {"absent", "present", NULL};

struct report {
	char site_sha256[DIGEST_TEXT_SIZE];
	char name[SITE_NAME_SIZE];
	int account, runner, profile;
};

static const struct json_field report_fields[] = {
	{JSON_LITERAL("schema", "netproof.site_check.v1")},
	{JSON_DIGEST(struct report, site_sha256)},
	{JSON_TEXT(struct report, name, 1, NULL)},
	{JSON_CHOICE(struct report, account, states)},
	{JSON_CHOICE(struct report, runner, states)},
	{JSON_CHOICE(struct report, profile, states)},
};
static const struct json_table report_table = JSON_TABLE(struct report, report_fields);

struct loaded {
	struct site site;
	struct layout layout;
	struct installed installed;
	char sha256[DIGEST_TEXT_SIZE];
};

static int load(const char *path, struct loaded *loaded, struct diag *diag)
{
	int error = site_read(path, 0, &loaded->site, loaded->sha256, diag);

	if (!error)
		error = layout_of_site(&loaded->site, path, &loaded->layout, diag);
	if (!error)
		error = installed_look(&loaded->site, &loaded->layout, path,
				       &loaded->installed, diag);
	return error;
}

static enum exit_status run_check(const struct cli_values *values)
{
	OWN(own_bytes) struct bytes text = {0};
	struct loaded loaded = {0};
	struct report report = {0};
	struct diag diag = {0};
	int error = load(values->operands[0], &loaded, &diag);

	if (error)
		return cli_report(&diag);
	memcpy(report.site_sha256, loaded.sha256, sizeof(report.site_sha256));
	memcpy(report.name, loaded.site.name, sizeof(report.name));
	report.account = loaded.installed.has_account;
	report.runner = loaded.installed.has_runner;
	report.profile = loaded.installed.has_profile;
	if (json_table_write(&report_table, &report, &text, &diag) != 0)
		return cli_report(&diag);
	printf("%s\n", text.data);
	return EXIT_STATUS_OK;
}

/* The uid given, or else the account's; both must agree. */
static int choose_uid(const char *text, const struct loaded *loaded, uid_t *ret_uid,
		      struct diag *diag)
{
	uint64_t uid = loaded->installed.uid;

	if (text && number_parse(text, 1, UID_MAX, &uid) != 0)
		return diag_usage(diag, "--uid", "\"%s\" is not a uid from 1 to %u", text,
				  UID_MAX);
	if (!text && !loaded->installed.has_account)
		return diag_refuse(
			diag, loaded->site.workload_user,
			"there is no such account on this host, and so no uid: "
			"create it, or give the uid it will have with --uid");
	if (loaded->installed.has_account && uid != loaded->installed.uid)
		return diag_refuse(diag, "--uid", "%s has uid %u on this host",
				   loaded->site.workload_user, loaded->installed.uid);
	*ret_uid = (uid_t)uid;
	return 0;
}

static int render(const struct cli_values *values, struct diag *diag)
{
	struct loaded loaded = {0};
	struct tree_file files[TEMPLATES_COUNT] = {0};
	const char *path = cli_value(values, "site");
	const char *named = cli_value(values, "site-path");
	struct units_request request = {.site = &loaded.site, .layout = &loaded.layout};
	int error = load(path, &loaded, diag);

	request.site_path = named ? named : path;
	if (!error && !json_is_clean_path(request.site_path))
		error = diag_usage(diag, "--site-path", "not a clean absolute path");
	if (!error)
		error = choose_uid(cli_value(values, "uid"), &loaded, &request.uid, diag);
	if (!error)
		error = units_render(&request, files, diag);
	if (error)
		return error;
	error = tree_write(cli_value(values, "out"), files, TEMPLATES_COUNT, diag);
	for (size_t i = 0; i < TEMPLATES_COUNT; i++) {
		if (!error)
			printf("%s\n", files[i].path.data);
		tree_file_release(&files[i]);
	}
	return error;
}

static enum exit_status run_render(const struct cli_values *values)
{
	struct diag diag = {0};

	return render(values, &diag) == 0 ? EXIT_STATUS_OK : cli_report(&diag);
}

static const struct cli_option render_options[] = {
	{"site", "FILE", "the site file", true},
	{"out", "DIR", "a new folder for what is rendered, laid out like /etc", true},
	{"uid", "UID", "the workload user's uid, before the account exists", false},
	{"site-path", "PATH", "where the units find the site file, if not at FILE",
	 false},
};

static const struct cli_command commands[] = {
	{.name = "check",
	 .operands = "FILE",
	 .operands_min = 1,
	 .operands_max = 1,
	 .summary = "check a site file, and what of it is on this host",
	 .run = run_check},
	{.name = "render",
	 .summary = "write the systemd units, sysusers and tmpfiles of a site",
	 .options = render_options,
	 .option_count = ARRAY_SIZE(render_options),
	 .run = run_render},
};

int main(int argc, char **argv)
{
	static const struct cli_program program = {
		.name = "net-site",
		.summary = "check a site file, render its systemd units",
		.commands = commands,
		.command_count = ARRAY_SIZE(commands),
	};

	return cli_main(&program, argc, argv);
}
