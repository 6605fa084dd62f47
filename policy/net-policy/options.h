/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What net-policy's options say. */
#ifndef POLICY_NET_POLICY_OPTIONS_H
#define POLICY_NET_POLICY_OPTIONS_H

#include <stdint.h>

#include "common/cli.h"
#include "policy/profile.h"
#include "policy/ruleset.h"
#include "policy/site.h"
#include "policy/subjects.h"

/* The site, and the uids it is about. */
struct target {
	const char *path;
	struct site site;
	uint32_t uid;
	struct subjects subjects;
};

/* A number from `min` to `max`; without the option, `*ret_value` stays as it was. */
int options_read_number(const struct cli_values *values, const char *option, uint64_t min,
			uint64_t max, uint64_t *ret_value, struct diag *diag);

/* --site, and the workload user's uid: --uid, or the account's. */
int options_read_site(const struct cli_values *values, struct target *target,
		      struct diag *diag);

/* The subjects, by --subuid or the account; on failure, those that are certain. */
int options_read_subjects(const struct cli_values *values, struct target *target,
			  struct diag *diag);

/* Both. */
int options_read_target(const struct cli_values *values, struct target *target,
			struct diag *diag);

/* --mode; plain without. */
int options_read_mode(const struct cli_values *values, enum profile_mode *ret_mode,
		      struct diag *diag);

/* --now in seconds, or the wall clock; in milliseconds. */
int options_read_now(const struct cli_values *values, int64_t *ret_now_ms,
		     struct diag *diag);

/* --replace, or not. */
enum ruleset_form options_read_form(const struct cli_values *values);

#endif
