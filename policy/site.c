// SPDX-License-Identifier: GPL-2.0-or-later
// The site: the names and addresses on this host (netproof.site.v1).
#include "policy/site.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/json_table.h"
#include "common/protected.h"
#include "policy/words.h"

/* The lower end keeps clear of privileged ports, which the workload user cannot
 * listen on. */
#define PORT_MIN 1024
#define PORT_MAX 65535
/* Inner uids of containers: a map of 65536 holds them, and 65534 is nobody's. */
#define CONTAINER_UID_MAX 65533

static bool is_private_ipv4(const char *text)
{
	uint32_t address;

	return inet_is_ipv4(text, &address) && inet_is_private(address);
}

/* What nft takes unquoted and systemd and we print as it is. */
static bool is_table(const char *text)
{
	return text[0] >= 'a' && text[0] <= 'z' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0' &&
	       !words_is_reserved(text);
}

/* No '@': an instance lies in a slice of its own, a level deeper. No "\x2d" and
 * the like: the cgroup has the unit's name as it stands. */
static bool is_service(const char *text)
{
	static const char suffix[] = ".service";
	size_t length = strlen(text), stem;

	if (length < sizeof(suffix) || text[0] < 'a' || text[0] > 'z')
		return false;
	stem = length - (sizeof(suffix) - 1);
	return strcmp(text + stem, suffix) == 0 &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == stem;
}

/* A label's key: "org.example.run". */
static bool is_label(const char *text)
{
	size_t length = strlen(text);

	return length && text[0] >= 'a' && text[0] <= 'z' && text[length - 1] != '.' &&
	       text[length - 1] != '-' && !strstr(text, "..") &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == '\0';
}

static bool is_run_path(const char *text)
{
	return json_is_clean_path(text) && strncmp(text, "/run/", 5) == 0;
}

static const struct json_rule private_rule = {
	"a canonical IPv4 address in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
	is_private_ipv4};
static const struct json_rule table_rule = {
	"a table name of up to 31 lower-case letters, digits and '_' that starts with a "
	"letter and is no word of nft's own",
	is_table};
static const struct json_rule service_rule = {
	"a unit name of lower-case letters, digits, '_' and '-' that starts with a "
	"letter "
	"and ends with \".service\"",
	is_service};
static const struct json_rule label_rule = {"a label key of lower-case letters, digits, "
					    "'.' and '-' that starts with a letter",
					    is_label};
static const struct json_rule run_rule = {"a clean absolute path below /run",
					  is_run_path};

static const struct json_field endpoint_fields[] = {
	{JSON_TEXT(struct site_endpoint, address, 1, &private_rule)},
	{JSON_INTEGER(struct site_endpoint, port, PORT_MIN, PORT_MAX)},
};
static const struct json_table endpoint_table =
	JSON_TABLE(struct site_endpoint, endpoint_fields);

/* A kind that is none of these is refused by name: see check_engine_kind(). */
static const char *const engine_kinds[] = {"docker", NULL};
static const struct json_field engine_fields[] = {
	{JSON_CHOICE(struct site_engine, kind, engine_kinds)},
	{JSON_TEXT(struct site_engine, socket, 1, &run_rule)},
	{JSON_TEXT(struct site_engine, client_config, 1, &json_rule_path)},
};
static const struct json_table engine_table =
	JSON_TABLE(struct site_engine, engine_fields);

static const char *const router_namespaces[] = {"host", "rootless-netns", NULL};
static const struct json_field foreign_item = {
	JSON_ITEM_TEXT(DIGEST_TEXT_SIZE, DIGEST_TEXT_SIZE - 1, &json_rule_digest)};
static const struct json_field site_fields[] = {
	{JSON_LITERAL("schema", "netproof.site.v1")},
	{JSON_TEXT(struct site, name, 1, &json_rule_name)},
	{JSON_TEXT(struct site, workload_user, 1, &json_rule_name)},
	{JSON_TEXT(struct site, worker_unit, 1, &service_rule)},
	{JSON_TEXT(struct site, guard_unit, 1, &service_rule)},
	{JSON_TEXT(struct site, proxy_unit, 1, &service_rule)},
	{JSON_TEXT(struct site, engine_unit, 1, &service_rule)},
	{JSON_TEXT(struct site, table, 1, &table_rule)},
	{JSON_OBJECT(struct site, engine, &engine_table)},
	{JSON_TEXT(struct site, runtime_dir, 1, &run_rule)},
	{JSON_TEXT(struct site, install_dir, 1, &json_rule_path)},
	{JSON_TEXT(struct site, profile, 1, &json_rule_path)},
	{JSON_OBJECT(struct site, router, &endpoint_table)},
	{JSON_OBJECT(struct site, proxy, &endpoint_table)},
	{JSON_CHOICE(struct site, router_namespace, router_namespaces)},
	{JSON_INTEGER(struct site, candidate_uid, 1, CONTAINER_UID_MAX)},
	{JSON_INTEGER(struct site, executor_uid, 1, CONTAINER_UID_MAX)},
	{JSON_TEXT(struct site, run_label, 1, &label_rule)},
	{JSON_ARRAY(struct site, foreign_accepted, foreign_accepted_count, &foreign_item,
		    0)},
};
const struct json_table site_table = JSON_TABLE(struct site, site_fields);

/* The table's own refusal would say "none of: docker" without saying what was
 * asked for. Anything but a text is left to it. */
static int check_engine_kind(const struct json_at *root, struct diag *diag)
{
	struct json_at engine = {root, "engine", 0,
				 json_object_get(root->value, "engine")};
	struct json_at kind = {&engine, "kind", 0, json_object_get(engine.value, "kind")};
	const char *text = json_string_value(kind.value);

	if (!text || strcmp(text, engine_kinds[SITE_ENGINE_DOCKER]) == 0)
		return 0;
	return json_refuse(&kind, diag,
			   "the engine \"%.64s\" is not supported; use docker", text);
}

static int refuse_key(const struct json_at *root, const char *key, struct diag *diag,
		      const char *text)
{
	return json_refuse(&(struct json_at){root, key, 0, NULL}, diag, "%s", text);
}

/* The rules that span several keys. */
static int check_site(const struct json_at *root, const struct site *site,
		      struct diag *diag)
{
	if (strcmp(site->guard_unit, site->worker_unit) == 0)
		return refuse_key(root, "guard_unit", diag,
				  "the same as worker_unit; give each its own");
	if (strcmp(site->proxy_unit, site->worker_unit) == 0)
		return refuse_key(root, "proxy_unit", diag,
				  "the same as worker_unit; give each its own");
	if (strcmp(site->proxy_unit, site->guard_unit) == 0)
		return refuse_key(root, "proxy_unit", diag,
				  "the same as guard_unit; give each its own");
	if (strcmp(site->proxy.address, site->router.address) == 0 &&
	    site->proxy.port == site->router.port)
		return refuse_key(root, "proxy", diag,
				  "the same endpoint as router; give each its own");
	if (site->executor_uid == site->candidate_uid)
		return refuse_key(root, "executor_uid", diag,
				  "the same as candidate_uid; give each its own");
	for (size_t i = 0; i < site->foreign_accepted_count; i++)
		for (size_t j = 0; j < i; j++) {
			struct json_at list = {root, "foreign_accepted", 0, NULL};

			if (strcmp(site->foreign_accepted[i],
				   site->foreign_accepted[j]) == 0)
				return json_refuse(
					&(struct json_at){&list, NULL, i, NULL}, diag,
					"the same as item %zu; remove one", j);
		}
	return 0;
}

int site_parse(const void *data, size_t size, const char *name, struct site *ret_site,
	       struct diag *diag)
{
	OWN(own_json) json_t *value = NULL;
	struct json_at root = {NULL, name, 0, NULL};
	struct site site;
	int error = json_parse(data, size, SITE_LIMIT, name, &value, diag);

	root.value = value;
	if (!error)
		error = check_engine_kind(&root, diag);
	if (!error)
		error = json_table_decode(&root, &site_table, &site, diag);
	if (!error)
		error = check_site(&root, &site, diag);
	if (error)
		return error;
	*ret_site = site;
	return 0;
}

int site_read(const char *path, uid_t owner, struct site *ret_site,
	      char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = protected_read(path, owner, PROTECTED_FILE, SITE_LIMIT, &bytes, diag);

	if (!error)
		error = site_parse(bytes.data, bytes.size, path, ret_site, diag);
	if (!error && ret_sha256)
		digest_bytes(bytes.data, bytes.size, ret_sha256);
	return error;
}

void site_worker_cgroup(const struct site *site, char ret_path[SITE_CGROUP_SIZE])
{
	snprintf(ret_path, SITE_CGROUP_SIZE, "system.slice/%s", site->worker_unit);
}

void site_daemon_cgroup(uid_t uid, char ret_path[SITE_CGROUP_SIZE])
{
	snprintf(ret_path, SITE_CGROUP_SIZE, "user.slice/user-%u.slice/user@%u.service",
		 uid, uid);
}
