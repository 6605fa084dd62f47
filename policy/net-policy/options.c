// SPDX-License-Identifier: GPL-2.0-or-later
// What net-policy's options say.
#include "policy/net-policy/options.h"

#include <string.h>

#include "common/clock.h"
#include "common/number.h"
#include "policy/kernel/account.h"
#include "policy/kernel/subuid.h"

#define UID_MAX (UINT32_MAX - 1) /* UINT32_MAX: "no uid" */
#define TIME_MAX 99999999999ULL  /* as in a profile */

static const char *const mode_names[] = {"plain", "network_enforcement", NULL};

int options_read_number(const struct cli_values *values, const char *option, uint64_t min,
			uint64_t max, uint64_t *ret_value, struct diag *diag)
{
	const char *text = cli_value(values, option);

	if (text && number_parse(text, min, max, ret_value) != 0)
		return diag_usage(diag, option,
				  "\"%s\" is not a number from %llu to %llu", text,
				  (unsigned long long)min, (unsigned long long)max);
	return 0;
}

int options_read_site(const struct cli_values *values, struct target *target,
		      struct diag *diag)
{
	uint64_t uid = 0;
	int error = options_read_number(values, "uid", 1, UID_MAX, &uid, diag);

	target->path = cli_value(values, "site");
	if (!error)
		error = site_read(target->path, 0, &target->site, NULL, diag);
	if (error)
		return error;
	target->uid = (uint32_t)uid;
	if (uid)
		return 0;
	error = account_find(&target->site, &target->uid, diag);
	if (error)
		diag_prefix(diag, target->path);
	return error;
}

int options_read_subjects(const struct cli_values *values, struct target *target,
			  struct diag *diag)
{
	const char *path = cli_value(values, "subuid");
	int error = subuid_read(path ? path : SUBUID_PATH, target->site.workload_user,
				target->uid, &target->subjects, diag);

	/* A file that was named is all there is: nothing is loaded then. */
	if (!error && !path)
		error = subuid_check_switch(SUBUID_NSSWITCH_PATH, diag);
	return error;
}

int options_read_target(const struct cli_values *values, struct target *target,
			struct diag *diag)
{
	int error = options_read_site(values, target, diag);

	return error ? error : options_read_subjects(values, target, diag);
}

int options_read_mode(const struct cli_values *values, enum profile_mode *ret_mode,
		      struct diag *diag)
{
	const char *text = cli_value(values, "mode");

	*ret_mode = PROFILE_MODE_PLAIN;
	for (int i = 0; text && mode_names[i]; i++)
		if (strcmp(text, mode_names[i]) == 0) {
			*ret_mode = (enum profile_mode)i;
			return 0;
		}
	return text ? diag_usage(diag, "mode",
				 "\"%s\" is neither plain nor "
				 "network_enforcement",
				 text)
		    : 0;
}

int options_read_now(const struct cli_values *values, int64_t *ret_now_ms,
		     struct diag *diag)
{
	uint64_t now = 0;
	int error = options_read_number(values, "now", 0, TIME_MAX, &now, diag);

	if (error)
		return error;
	*ret_now_ms = cli_value(values, "now") ? (int64_t)now * 1000 : clock_wall_ms();
	return 0;
}

enum ruleset_form options_read_form(const struct cli_values *values)
{
	return cli_value(values, "replace") ? RULESET_REPLACE : RULESET_RELOAD;
}
