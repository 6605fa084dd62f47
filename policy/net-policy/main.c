// SPDX-License-Identifier: GPL-2.0-or-later
// net-policy: issues, compiles, loads, shows and compares the policy.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/canonical.h"
#include "common/cli.h"
#include "common/clock.h"
#include "common/newfile.h"
#include "common/notify.h"
#include "common/protected.h"
#include "policy/kernel/compare.h"
#include "policy/kernel/guard.h"
#include "policy/kernel/install.h"
#include "policy/kernel/kform.h"
#include "policy/kernel/show.h"
#include "policy/net-policy/options.h"
#include "policy/normalize.h"
#include "policy/profile.h"
#include "policy/ruleset.h"
#include "policy/semantic.h"
#include "policy/site.h"
#include "policy/subjects.h"

static void print_bytes(const struct bytes *bytes)
{
	fwrite(bytes->data, 1, bytes->size, stdout);
}

/* --- profiles --------------------------------------------------------------------- */

static void print_profile(const struct profile *profile)
{
	printf("{\"expires_at_unix\":%lld,\"issued_at_unix\":%lld,\"profile_sha256\":\"%"
	       "s\"}\n",
	       (long long)profile->expires_at_unix, (long long)profile->issued_at_unix,
	       profile->sha256);
}

static int read_endpoints(const char *path, struct profile_endpoints *ret_endpoints,
			  struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = protected_read(path, 0, PROTECTED_FILE, PROFILE_LIMIT, &bytes, diag);

	return error ? error
		     : profile_parse_endpoints(bytes.data, bytes.size, path,
					       ret_endpoints, diag);
}

static int make_key(uint8_t ret_key[DIGEST_SIZE], struct diag *diag)
{
	/* Up to 256 bytes come whole, once the pool is ready: getrandom(2). */
	if (getrandom(ret_key, DIGEST_SIZE, 0) != DIGEST_SIZE)
		return diag_fail(diag, errno, NULL, "no random bytes for label_key");
	return 0;
}

static enum exit_status run_issue(const struct cli_values *values)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct profile_endpoints endpoints;
	struct profile profile;
	uint8_t key[DIGEST_SIZE];
	struct diag diag = {0};
	struct site site;
	uint64_t window = 0;
	int error = options_read_number(values, "window", 1, PROFILE_LEFT_MAX, &window,
					&diag);

	if (!error)
		error = site_read(cli_value(values, "site"), 0, &site, NULL, &diag);
	if (!error)
		error = read_endpoints(cli_value(values, "endpoints"), &endpoints, &diag);
	if (!error)
		error = make_key(key, &diag);
	if (!error)
		error = profile_issue(&endpoints, &site, clock_wall_ms() / 1000,
				      (int64_t)window, key, &profile, &bytes, &diag);
	if (!error)
		error = newfile_write(cli_value(values, "out"), S_IRUSR | S_IWUSR,
				      bytes.data, bytes.size,
				      "move it away: records made under a profile cannot "
				      "be verified without it",
				      &diag);
	if (error)
		return cli_report(&diag);
	print_profile(&profile);
	return EXIT_STATUS_OK;
}

static enum exit_status run_validate(const struct cli_values *values)
{
	const char *path = cli_value(values, "profile");
	const char *site_path = cli_value(values, "site");
	enum profile_mode mode = PROFILE_MODE_PLAIN;
	struct site site = {0};
	struct diag diag = {0};
	struct profile profile;
	int64_t now_ms = 0;
	int error = options_read_mode(values, &mode, &diag);

	if (!error && mode == PROFILE_MODE_NETWORK_ENFORCEMENT && !site_path)
		error = diag_usage(&diag, "site",
				   "missing: mode network_enforcement "
				   "compares the profile with the site");
	if (!error)
		error = options_read_now(values, &now_ms, &diag);
	if (!error && site_path)
		error = site_read(site_path, 0, &site, NULL, &diag);
	if (!error)
		error = profile_read(path, 0, &profile, &diag);
	if (!error)
		error = profile_check(&profile, &site, mode, now_ms, path, &diag);
	if (error)
		return cli_report(&diag);
	print_profile(&profile);
	return EXIT_STATUS_OK;
}

/* --- transactions ----------------------------------------------------------------- */

static enum exit_status run_compile(const struct cli_values *values)
{
	const char *path = cli_value(values, "profile");
	OWN(own_bytes) struct bytes text = {0};
	struct target target = {0};
	struct diag diag = {0};
	struct profile profile;
	int64_t now_ms = 0;
	int error = options_read_now(values, &now_ms, &diag);

	if (!error)
		error = options_read_target(values, &target, &diag);
	if (!error)
		error = profile_read(path, 0, &profile, &diag);
	if (!error)
		error = ruleset_compile(&target.site, &profile, target.uid,
					&target.subjects, now_ms,
					options_read_form(values), &text, &diag);
	if (error)
		return cli_report(&diag);
	print_bytes(&text);
	return EXIT_STATUS_OK;
}

static enum exit_status run_guard(const struct cli_values *values)
{
	OWN(own_bytes) struct bytes text = {0};
	struct target target = {0};
	struct diag diag = {0};
	int error = options_read_target(values, &target, &diag);

	if (!error)
		error = ruleset_compile_guard(target.site.table, &target.subjects,
					      options_read_form(values), &text, &diag);
	if (error)
		return cli_report(&diag);
	print_bytes(&text);
	return EXIT_STATUS_OK;
}

/* Loads the guard for the subjects that are certain, and reports why the others
 * are not: some denial is better than none, and a refusal is seen. */
static enum exit_status guard_and_report(const struct target *target, struct diag *diag)
{
	struct diag second = {0};

	if (target->subjects.count &&
	    guard_load(target->site.table, &target->subjects, &second) != 0)
		cli_report(&second);
	return cli_report(diag);
}

static enum exit_status run_install(const struct cli_values *values)
{
	struct target target = {0};
	struct install_request request = {
		.site = &target.site,
		.subjects = &target.subjects,
		.profile_path = cli_value(values, "profile"),
	};
	struct diag diag = {0};
	struct profile profile;
	int error = options_read_mode(values, &request.mode, &diag);

	if (!error)
		error = options_read_site(values, &target, &diag);
	if (!error)
		error = install_check_place(&target.site, &diag);
	if (error)
		return cli_report(&diag);
	if (options_read_subjects(values, &target, &diag) != 0)
		return guard_and_report(&target, &diag);
	request.uid = target.uid;
	if (!request.profile_path)
		request.profile_path = target.site.profile;
	if (install_policy(&request, &profile, &diag) != 0)
		return cli_report(&diag);
	print_profile(&profile);
	return EXIT_STATUS_OK;
}

/* As the status of the unit that this is a command of. */
static void tell_manager(const struct target *target)
{
	OWN(own_fd) int notify = notify_open();
	uint64_t uids = 0;
	char state[256];

	for (size_t i = 0; i < target->subjects.count; i++)
		uids += (uint64_t)target->subjects.ranges[i].last -
			target->subjects.ranges[i].first + 1;
	snprintf(state, sizeof(state),
		 "STATUS=Everything of %s is rejected: table inet %s, %llu uids",
		 target->site.workload_user, target->site.table,
		 (unsigned long long)uids);
	notify_send(notify, state);
}

static enum exit_status run_revoke(const struct cli_values *values)
{
	struct target target = {0};
	struct diag diag = {0};

	if (options_read_site(values, &target, &diag) != 0)
		return cli_report(&diag);
	if (options_read_subjects(values, &target, &diag) != 0)
		return guard_and_report(&target, &diag);
	if (guard_load(target.site.table, &target.subjects, &diag) != 0)
		return cli_report(&diag);
	tell_manager(&target);
	return EXIT_STATUS_OK;
}

/* --- listings --------------------------------------------------------------------- */

/* The operand, or standard input: read as it is, whoever owns it. */
static int read_listing(const struct cli_values *values, const char **ret_name,
			struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_fd) int fd = -1;
	int error;

	*ret_name = "standard input";
	if (values->operand_count) {
		*ret_name = values->operands[0];
		fd = open(*ret_name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return diag_fail(diag, errno, *ret_name, "cannot be opened");
	}
	error = protected_read_fd(fd < 0 ? 0 : fd, NORMALIZE_LIMIT, *ret_name, ret_bytes,
				  diag);
	/* Too large a listing is no verdict either. */
	if (error)
		diag->kind = DIAG_UNDECIDED;
	return error;
}

static int read_entries(const struct cli_values *values, json_t **ret_entries,
			struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	const char *name;
	int error = read_listing(values, &name, &bytes, diag);

	return error ? error
		     : normalize_listing(bytes.data, bytes.size, name,
					 cli_value(values, "table"), ret_entries, diag);
}

static enum exit_status run_normalize(const struct cli_values *values)
{
	OWN(own_json) json_t *entries = NULL;
	OWN(own_bytes) struct bytes text = {0};
	struct diag diag = {0};

	if (read_entries(values, &entries, &diag) != 0 ||
	    canonical_write(entries, &text, &diag) != 0)
		return cli_report(&diag);
	print_bytes(&text);
	printf("\n");
	return EXIT_STATUS_OK;
}

static enum exit_status run_digest(const struct cli_values *values)
{
	OWN(own_json) json_t *entries = NULL;
	char sha256[DIGEST_TEXT_SIZE];
	struct diag diag = {0};

	if (read_entries(values, &entries, &diag) != 0 ||
	    semantic_digest(entries, sha256, &diag) != 0)
		return cli_report(&diag);
	printf("{\"nft_ruleset_semantic_sha256\":\"%s\"}\n", sha256);
	return EXIT_STATUS_OK;
}

/* --- the kernel's own form -----------------------------------------------------------
 */

static enum exit_status run_kernel_form(const struct cli_values *values)
{
	const char *table = cli_value(values, "table");
	OWN(nfnl_close) struct nfnl nfnl = {0};
	OWN(kform_release) struct kform form = {0};
	char sha256[DIGEST_TEXT_SIZE];
	struct diag diag = {0};
	int error = nfnl_open(&nfnl, &diag);

	if (!error)
		error = kform_read(
			&nfnl, KFORM_INET, table,
			cli_value(values, "without-inert") ? KFORM_WITHOUT_INERT : 0,
			&form, &diag);
	if (!error && !form.is_present)
		error = diag_refuse(
			&diag, table,
			"no such table of family inet; net-policy revoke loads "
			"the guard");
	if (error)
		return cli_report(&diag);
	if (!cli_value(values, "digest")) {
		print_bytes(&form.text);
		return EXIT_STATUS_OK;
	}
	kform_digest(&form, sha256);
	printf("{\"nft_kernel_sha256\":\"%s\"}\n", sha256);
	return EXIT_STATUS_OK;
}

static const struct style_rule diff_rules[] = {
	{STYLE_LINE, "\tmust be: ", STYLE_GOOD},
	{STYLE_LINE, "\tis: ", STYLE_BAD},
	{STYLE_END, " is missing", STYLE_BAD},
	{STYLE_END, " is not of the policy", STYLE_BAD},
	{STYLE_END, " differs", STYLE_BAD},
};

static const struct style_rule show_rules[] = {
	{STYLE_END, ": the deny guard", STYLE_GOOD},
	{STYLE_END, ": an open window", STYLE_DOUBT},
	{STYLE_END, ": an expired window", STYLE_DOUBT},
	{STYLE_END, ": neither window nor guard", STYLE_BAD},
	{STYLE_LINE, "     packets  rule", STYLE_FAINT},
	{STYLE_LINE, "  chain ", STYLE_TITLE},
};

static enum exit_status run_diff(const struct cli_values *values)
{
	const char *path = cli_value(values, "profile");
	OWN(comparison_release) struct comparison comparison = {0};
	struct target target = {0};
	struct diag diag = {0};
	struct profile profile;
	int error;

	if (!path == !cli_value(values, "guard"))
		error = diag_usage(&diag, "profile",
				   "give a profile, or --guard to compare with the deny "
				   "guard");
	else
		error = options_read_target(values, &target, &diag);
	if (!error && path)
		error = profile_read(path, 0, &profile, &diag);
	if (!error && path)
		error = compare_policy(&target.site, &profile, target.uid,
				       &target.subjects, &comparison, &diag);
	else if (!error)
		error = compare_guard(target.site.table, &target.subjects, &comparison,
				      &diag);
	if (error)
		return cli_report(&diag);
	if (comparison.is_equal) {
		printf("table inet %s: equal\n", target.site.table);
		return EXIT_STATUS_OK;
	}
	printf("table inet %s: %zu difference%s\n", target.site.table,
	       comparison.difference_count, comparison.difference_count == 1 ? "" : "s");
	cli_print(stdout, comparison.report.data, diff_rules, ARRAY_SIZE(diff_rules));
	return EXIT_STATUS_DIFFERENT;
}

static enum exit_status run_show(const struct cli_values *values)
{
	OWN(own_buffer) struct buffer buffer = {0};
	OWN(own_bytes) struct bytes text = {0};
	struct diag diag = {0};
	struct site site;
	int error = site_read(cli_value(values, "site"), 0, &site, NULL, &diag);

	if (!error)
		error = show_table(site.table, clock_wall_ms(), &buffer, &diag);
	if (!error)
		error = buffer_take(&buffer, &text, &diag);
	if (error)
		return cli_report(&diag);
	cli_print(stdout, text.data, show_rules, ARRAY_SIZE(show_rules));
	return EXIT_STATUS_OK;
}

/* --- the command line --------------------------------------------------------------- */

#define OPTION_SITE                                                                      \
	{                                                                                \
		"site", "FILE", "the site file", true                                    \
	}
#define OPTION_PROFILE                                                                   \
	{                                                                                \
		"profile", "FILE", "the profile", true                                   \
	}
#define OPTION_UID                                                                       \
	{                                                                                \
		"uid", "N", "the workload user's uid (else the account's)", false        \
	}
#define OPTION_SUBUID                                                                    \
	{                                                                                \
		"subuid", "FILE", "subordinate uids (else /etc/subuid)", false           \
	}
#define OPTION_NOW                                                                       \
	{                                                                                \
		"now", "T", "seconds since 1970 (else the clock's)", false               \
	}
#define OPTION_MODE                                                                      \
	{                                                                                \
		"mode", "plain|network_enforcement", "plain if not given", false         \
	}
#define OPTION_REPLACE                                                                   \
	{                                                                                \
		"replace", NULL, "for a table that is dormant or of another shape",      \
			false                                                            \
	}
#define OPTION_TABLE                                                                     \
	{                                                                                \
		"table", "NAME", "the table", true                                       \
	}

static const struct cli_option issue_options[] = {
	OPTION_SITE,
	{"endpoints", "FILE", "what is granted", true},
	{"window", "S", "seconds until the profile expires", true},
	{"out", "FILE", "the profile, a new file", true},
};
static const struct cli_option validate_options[] = {
	OPTION_PROFILE,
	{"site", "FILE", "the site file", false},
	OPTION_MODE,
	OPTION_NOW,
};
static const struct cli_option compile_options[] = {
	OPTION_PROFILE, OPTION_SITE, OPTION_UID,
	OPTION_SUBUID,  OPTION_NOW,  OPTION_REPLACE,
};
static const struct cli_option guard_options[] = {
	OPTION_SITE,
	OPTION_UID,
	OPTION_SUBUID,
	OPTION_REPLACE,
};
static const struct cli_option install_options[] = {
	OPTION_SITE, {"profile", "FILE", "the profile (else the site's)", false},
	OPTION_UID,  OPTION_SUBUID,
	OPTION_MODE,
};
static const struct cli_option revoke_options[] = {
	OPTION_SITE,
	OPTION_UID,
	OPTION_SUBUID,
};
static const struct cli_option show_options[] = {
	OPTION_SITE,
};
static const struct cli_option listing_options[] = {
	OPTION_TABLE,
};

static const struct cli_option kernel_form_options[] = {
	OPTION_TABLE,
	{"digest", NULL, "its digest alone", false},
	{"without-inert", NULL, "without what a flush leaves behind", false},
};
static const struct cli_option diff_options[] = {
	OPTION_SITE,
	{"profile", "FILE", "the profile that is installed", false},
	{"guard", NULL, "compare with the deny guard instead", false},
	OPTION_UID,
	OPTION_SUBUID,
};

#define OPTIONS(list) .options = (list), .option_count = ARRAY_SIZE(list)

static const struct cli_command commands[] = {
	{.name = "issue",
	 .summary = "writes a profile with a fresh key",
	 OPTIONS(issue_options),
	 .run = run_issue},
	{.name = "validate",
	 .summary = "checks that a profile may be installed now",
	 OPTIONS(validate_options),
	 .run = run_validate},
	{.name = "compile",
	 .summary = "prints the transaction that opens the window",
	 OPTIONS(compile_options),
	 .run = run_compile},
	{.name = "guard",
	 .summary = "prints the transaction that loads the deny guard",
	 OPTIONS(guard_options),
	 .run = run_guard},
	{.name = "install",
	 .summary = "opens the window; only from the worker unit",
	 OPTIONS(install_options),
	 .run = run_install},
	{.name = "revoke",
	 .summary = "closes the window: loads the deny guard",
	 OPTIONS(revoke_options),
	 .run = run_revoke},
	{.name = "normalize",
	 .operands = "[FILE]",
	 .operands_max = 1,
	 .summary = "prints the normalized entries of a listing (nft -j list table)",
	 OPTIONS(listing_options),
	 .run = run_normalize},
	{.name = "digest",
	 .operands = "[FILE]",
	 .operands_max = 1,
	 .summary = "prints the semantic digest of a listing",
	 OPTIONS(listing_options),
	 .run = run_digest},
	{.name = "kernel-form",
	 .summary = "prints a table in the kernel's own form",
	 OPTIONS(kernel_form_options),
	 .run = run_kernel_form},
	{.name = "show",
	 .summary = "says what is loaded, how long for, and packets for each rule",
	 OPTIONS(show_options),
	 .run = run_show},
	{.name = "diff",
	 .summary = "compares the kernel's table with the policy",
	 OPTIONS(diff_options),
	 .run = run_diff},
};

static const struct cli_program program = {
	.name = "net-policy",
	.summary = "the network policy around an untrusted workload",
	.commands = commands,
	.command_count = ARRAY_SIZE(commands),
};

int main(int argc, char **argv)
{
	return cli_main(&program, argc, argv);
}
