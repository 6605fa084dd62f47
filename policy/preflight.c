// SPDX-License-Identifier: GPL-2.0-or-later
// The preflight: a host as a read-only look found it (netproof.preflight.v4).
#include "policy/preflight.h"

#include <string.h>

#include "common/canonical.h"
#include "policy/tables.h"

static const struct json_field option_item = {
	JSON_ITEM_TEXT(DAEMON_TEXT_SIZE, 1, &json_rule_ascii)};

static const struct json_field daemon_fields[] = {
	{JSON_TEXT(struct daemon_identity, id, 1, &json_rule_ascii)},
	{JSON_TEXT(struct daemon_identity, version, 1, &json_rule_ascii)},
	{JSON_TEXT(struct daemon_identity, root_dir, 1, &json_rule_path)},
	{JSON_TEXT(struct daemon_identity, storage_driver, 1, &json_rule_ascii)},
	{JSON_TEXT(struct daemon_identity, cgroup_driver, 1, &json_rule_ascii)},
	{JSON_TEXT(struct daemon_identity, cgroup_version, 1, &json_rule_ascii)},
	{JSON_TEXT(struct daemon_identity, default_runtime, 1, &json_rule_ascii)},
	{JSON_ARRAY(struct daemon_identity, security_options, security_option_count,
		    &option_item, 1)},
	{JSON_TEXT(struct daemon_identity, socket, 1, &json_rule_path)},
};

const struct json_table daemon_identity_table =
	JSON_TABLE(struct daemon_identity, daemon_fields);

/* systemd's unit names and states, as it prints them. */
static const struct json_field unit_fields[] = {
	{JSON_TEXT(struct unit_state, name, 1, &json_rule_ascii)},
	{JSON_TEXT(struct unit_state, active_state, 1, &json_rule_name)},
	{JSON_TEXT(struct unit_state, sub_state, 1, &json_rule_name)},
	{JSON_DIGEST(struct unit_state, unit_sha256)},
};

const struct json_table unit_state_table = JSON_TABLE(struct unit_state, unit_fields);

static const struct json_field units_fields[] = {
	{JSON_OBJECT(struct preflight_units, worker, &unit_state_table)},
	{JSON_OBJECT(struct preflight_units, guard, &unit_state_table)},
	{JSON_OBJECT(struct preflight_units, proxy, &unit_state_table)},
	{JSON_OBJECT(struct preflight_units, engine, &unit_state_table)},
};

static const struct json_table units_table =
	JSON_TABLE(struct preflight_units, units_fields);

static const struct json_field preflight_fields[] = {
	{JSON_LITERAL("schema", "netproof.preflight.v4")},
	{JSON_OBJECT(struct preflight, host, &host_table)},
	{JSON_DIGEST(struct preflight, site_sha256)},
	{JSON_DIGEST(struct preflight, release_sha256)},
	{JSON_OBJECT(struct preflight, programs, &release_programs_table)},
	{JSON_DIGEST(struct preflight, catalog_sha256)},
	{JSON_DIGEST(struct preflight, targets_sha256)},
	{JSON_TEXT(struct preflight, candidate_image_id, 1, &release_image_rule)},
	{JSON_OBJECT(struct preflight, daemon, &daemon_identity_table)},
	{JSON_DIGEST(struct preflight, daemon_sha256)},
	{JSON_OBJECT(struct preflight, units, &units_table)},
	{JSON_INTEGER(struct preflight, containers, 0, 0)},
	{JSON_INTEGER(struct preflight, job_networks, 0, 0)},
	{JSON_DIGEST(struct preflight, nft_ruleset_semantic_sha256)},
	{JSON_DIGEST(struct preflight, guard_kernel_sha256)},
	{JSON_DIGEST(struct preflight, nft_foreign_sha256)},
	{TABLES_TIME(struct preflight, checked_at_unix)},
};

static const struct json_table preflight_table =
	JSON_TABLE(struct preflight, preflight_fields);

static bool has_option(const struct daemon_identity *daemon, const char *option)
{
	for (size_t i = 0; i < daemon->security_option_count; i++)
		if (strcmp(daemon->security_options[i], option) == 0)
			return true;
	return false;
}

/* Of a profile that somebody else wrote nobody knows which socket calls it denies. */
static const char *const seccomp_profiles[] = {
	"name=seccomp,profile=builtin",
	"name=seccomp,profile=default", /* as engines before 23.0 call it */
	"name=seccomp,profile=unconfined",
};

static bool is_seccomp(const char *option)
{
	return strncmp(option, "name=seccomp", strlen("name=seccomp")) == 0;
}

static bool is_known_seccomp(const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(seccomp_profiles); i++)
		if (strcmp(option, seccomp_profiles[i]) == 0)
			return true;
	return false;
}

bool daemon_identity_has_seccomp(const struct daemon_identity *daemon)
{
	for (size_t i = 0; i < daemon->security_option_count; i++)
		if (is_seccomp(daemon->security_options[i]) &&
		    strcmp(daemon->security_options[i],
			   "name=seccomp,profile=unconfined") != 0)
			return true;
	return false;
}

int daemon_identity_check(const struct daemon_identity *daemon, const char *name,
			  struct diag *diag)
{
	if (!has_option(daemon, "name=rootless"))
		return diag_refuse(diag, name,
				   "security_options: without name=rootless: the engine "
				   "is not rootless");
	if (strcmp(daemon->cgroup_driver, "systemd") != 0)
		return diag_refuse(diag, name, "cgroup_driver: %s, not systemd",
				   daemon->cgroup_driver);
	if (strcmp(daemon->cgroup_version, "2") != 0)
		return diag_refuse(diag, name, "cgroup_version: %s, not 2",
				   daemon->cgroup_version);
	for (size_t i = 0; i < daemon->security_option_count; i++)
		if (is_seccomp(daemon->security_options[i]) &&
		    !is_known_seccomp(daemon->security_options[i]))
			return diag_refuse(
				diag, name,
				"security_options[%zu]: '%s': a failed probe "
				"could mean that profile, not the policy; start "
				"the engine with its own",
				i, daemon->security_options[i]);
	for (size_t i = 1; i < daemon->security_option_count; i++)
		if (strcmp(daemon->security_options[i - 1],
			   daemon->security_options[i]) >= 0)
			return diag_refuse(diag, name,
					   "security_options[%zu]: not sorted, or twice",
					   i);
	return 0;
}

static int compare_options(const void *left, const void *right)
{
	return strcmp(left, right);
}

void daemon_identity_sort(struct daemon_identity *daemon)
{
	qsort(daemon->security_options, daemon->security_option_count,
	      sizeof(daemon->security_options[0]), compare_options);
}

int daemon_identity_digest(const struct daemon_identity *daemon,
			   char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = json_table_write(&daemon_identity_table, daemon, &bytes, diag);

	if (error)
		return error;
	digest_bytes(bytes.data, bytes.size, ret_sha256);
	return 0;
}

/* The rules that span several keys. */
static int check(const struct preflight *preflight, const char *name, struct diag *diag)
{
	char place[DIAG_PLACE_SIZE], sha256[DIGEST_TEXT_SIZE];
	int error;

	snprintf(place, sizeof(place), "%s: daemon", name);
	error = daemon_identity_check(&preflight->daemon, place, diag);
	if (!error)
		error = daemon_identity_digest(&preflight->daemon, sha256, diag);
	if (error)
		return error;
	if (strcmp(sha256, preflight->daemon_sha256) != 0)
		return diag_refuse(diag, name,
				   "daemon_sha256: not the digest of daemon, which is %s",
				   sha256);
	return 0;
}

int preflight_parse(const void *data, size_t size, const char *name,
		    struct preflight *ret_preflight, struct diag *diag)
{
	OWN(own_pointer) struct preflight *preflight = calloc(1, sizeof(*preflight));
	int error;

	if (!preflight)
		return diag_no_memory(diag);
	error = json_table_parse_kept(data, size, PREFLIGHT_LIMIT, name, &preflight_table,
				      preflight, diag);
	if (!error)
		error = check(preflight, name, diag);
	if (error)
		return error;
	*ret_preflight = *preflight;
	return 0;
}

int preflight_write(const struct preflight *preflight, struct bytes *ret_bytes,
		    struct diag *diag)
{
	int error = check(preflight, "preflight", diag);

	return error ? error
		     : tables_write_kept(&preflight_table, preflight, PREFLIGHT_LIMIT,
					 "preflight", ret_bytes, diag);
}
