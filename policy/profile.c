// SPDX-License-Identifier: GPL-2.0-or-later
// The profile: what the operator grants, and until when.
#include "policy/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/json_table.h"
#include "common/moment.h"
#include "common/protected.h"

#define DNS_PORT 53             /* RFC 1035, 4.2 */
#define CANDIDATE_PORT_MIN 1024 /* below, the workload user cannot listen */
#define TIME_MAX 99999999999    /* the year 5138: products with 1000 stay exact */

static const struct json_field tcp_fields[] = {
	{JSON_TEXT(struct profile_endpoint, address, 1, &json_rule_ipv4)},
	{JSON_INTEGER(struct profile_endpoint, port, 1, 65535)},
};
static const struct json_table tcp_table =
	JSON_TABLE(struct profile_endpoint, tcp_fields);
static const struct json_field tcp_item = {
	JSON_ITEM_OBJECT(struct profile_endpoint, &tcp_table)};

static const struct json_field dns_fields[] = {
	{JSON_TEXT(struct profile_endpoint, address, 1, &json_rule_ipv4)},
	{JSON_INTEGER(struct profile_endpoint, port, DNS_PORT, DNS_PORT)},
};
static const struct json_table dns_table =
	JSON_TABLE(struct profile_endpoint, dns_fields);
static const struct json_field dns_item = {
	JSON_ITEM_OBJECT(struct profile_endpoint, &dns_table)};

static const struct json_field candidate_fields[] = {
	{JSON_TEXT(struct profile_endpoint, address, 1, &json_rule_ipv4)},
	{JSON_INTEGER(struct profile_endpoint, port, CANDIDATE_PORT_MIN, 65535)},
};
static const struct json_table candidate_table =
	JSON_TABLE(struct profile_endpoint, candidate_fields);
static const struct json_field candidate_item = {
	JSON_ITEM_OBJECT(struct profile_endpoint, &candidate_table)};

static const struct json_field profile_fields[] = {
	{JSON_LITERAL("schema", "netproof.connectivity.v2")},
	{JSON_INTEGER(struct profile, issued_at_unix, 0, TIME_MAX)},
	{JSON_INTEGER(struct profile, expires_at_unix, 0, TIME_MAX)},
	{JSON_ARRAY(struct profile, trusted_tcp, trusted_tcp_count, &tcp_item, 1)},
	{JSON_ARRAY(struct profile, trusted_dns, trusted_dns_count, &dns_item, 0)},
	{JSON_BOOLEAN(struct profile, trusted_loopback_tcp)},
	{JSON_ARRAY(struct profile, candidate_tcp, candidate_tcp_count, &candidate_item,
		    1)},
	{JSON_TEXT(struct profile, label_key, DIGEST_TEXT_SIZE - 1, &json_rule_digest)},
};
const struct json_table profile_table = JSON_TABLE(struct profile, profile_fields);

static const struct json_field endpoints_fields[] = {
	{JSON_LITERAL("schema", "netproof.endpoints.v1")},
	{JSON_ARRAY(struct profile_endpoints, trusted_tcp, trusted_tcp_count, &tcp_item,
		    1)},
	{JSON_ARRAY(struct profile_endpoints, trusted_dns, trusted_dns_count, &dns_item,
		    0)},
	{JSON_BOOLEAN(struct profile_endpoints, trusted_loopback_tcp)},
};
static const struct json_table endpoints_table =
	JSON_TABLE(struct profile_endpoints, endpoints_fields);

/* What makes an address unfit for a grant, or NULL. In host order. */
static const char *find_fault(uint32_t address)
{
	if (!inet_is_special(address))
		return NULL;
	if (address >> 24 == 0)
		return "an unspecified address (0.0.0.0/8)";
	if (address >> 16 == 0xa9fe)
		return "a link-local address (169.254.0.0/16)";
	if (address >> 28 == 0xe)
		return "a multicast address (224.0.0.0/4)";
	return "a reserved address (240.0.0.0/4)";
}

static bool is_same(const struct profile_endpoint *one,
		    const struct profile_endpoint *two)
{
	return one->port == two->port && strcmp(one->address, two->address) == 0;
}

struct endpoint_list {
	const char *key;
	const struct profile_endpoint *items;
	size_t count;
	bool is_private_wanted;
};

static int refuse_item(const char *name, const struct endpoint_list *list, size_t index,
		       const char *key, struct diag *diag, const char *text)
{
	struct json_at root = {NULL, name, 0, NULL};
	struct json_at array = {&root, list->key, 0, NULL};
	struct json_at item = {&array, NULL, index, NULL};
	struct json_at member = {&item, key, 0, NULL};

	return json_refuse(key ? &member : &item, diag, "%s", text);
}

static int check_item(const char *name, const struct endpoint_list *list, size_t index,
		      struct diag *diag)
{
	const char *fault;
	uint32_t address = 0;

	/* The decoder has let only IPv4 literals through. */
	inet_is_ipv4(list->items[index].address, &address);
	fault = find_fault(address);
	if (!fault && list->is_private_wanted && !inet_is_private(address))
		fault = "not in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16";
	if (fault)
		return refuse_item(name, list, index, "address", diag, fault);
	for (size_t i = 0; i < index; i++)
		if (is_same(&list->items[i], &list->items[index]))
			return refuse_item(
				name, list, index, NULL, diag,
				"the same endpoint as an earlier one; remove one");
	return 0;
}

static int check_lists(const char *name, const struct endpoint_list *lists, size_t count,
		       struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		for (size_t j = 0; j < lists[i].count && !error; j++)
			error = check_item(name, &lists[i], j, diag);
	return error;
}

/* A trusted endpoint that is also a candidate's would hand the untrusted side what
 * it must not reach. */
static int check_apart(const char *name, const struct endpoint_list *trusted,
		       const struct endpoint_list *candidates, struct diag *diag)
{
	for (size_t i = 0; i < candidates->count; i++)
		for (size_t j = 0; j < trusted->count; j++)
			if (is_same(&candidates->items[i], &trusted->items[j]))
				return refuse_item(name, candidates, i, NULL, diag,
						   "also in trusted_tcp; a candidate "
						   "must not reach what "
						   "the worker may");
	return 0;
}

static int refuse_key(const char *name, const char *key, struct diag *diag,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));

static int refuse_key(const char *name, const char *key, struct diag *diag,
		      const char *format, ...)
{
	struct json_at root = {NULL, name, 0, NULL};
	char text[DIAG_TEXT_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return json_refuse(&(struct json_at){&root, key, 0, NULL}, diag, "%s", text);
}

static int check_profile(const char *name, const struct profile *profile,
			 struct diag *diag)
{
	const struct endpoint_list lists[] = {
		{"trusted_tcp", profile->trusted_tcp, profile->trusted_tcp_count, false},
		{"trusted_dns", profile->trusted_dns, profile->trusted_dns_count, false},
		{"candidate_tcp", profile->candidate_tcp, profile->candidate_tcp_count,
		 true},
	};
	int error;

	if (profile->expires_at_unix <= profile->issued_at_unix)
		return refuse_key(name, "expires_at_unix", diag,
				  "not after issued_at_unix");
	error = check_lists(name, lists, ARRAY_SIZE(lists), diag);
	return error ? error : check_apart(name, &lists[0], &lists[2], diag);
}

/* The parser quotes what stands near a mistake: in a profile, that may be the label
 * key. The line and column are enough. */
static void keep_secret(struct diag *diag)
{
	char *quoted = strstr(diag->text, " near '");

	if (quoted)
		*quoted = '\0';
}

int profile_parse(const void *data, size_t size, const char *name,
		  struct profile *ret_profile, struct diag *diag)
{
	struct profile profile;
	int error = json_table_parse(data, size, PROFILE_LIMIT, name, &profile_table,
				     &profile, diag);

	if (error)
		keep_secret(diag);
	else
		error = check_profile(name, &profile, diag);
	if (error)
		return error;
	digest_bytes(data, size, profile.sha256);
	*ret_profile = profile;
	return 0;
}

int profile_read(const char *path, uid_t owner, struct profile *ret_profile,
		 struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = protected_read(path, owner, PROTECTED_PRIVATE, PROFILE_LIMIT, &bytes,
				   diag);

	return error ? error
		     : profile_parse(bytes.data, bytes.size, path, ret_profile, diag);
}

static bool has_candidate(const struct profile *profile,
			  const struct site_endpoint *endpoint)
{
	for (size_t i = 0; i < profile->candidate_tcp_count; i++)
		if (profile->candidate_tcp[i].port == endpoint->port &&
		    strcmp(profile->candidate_tcp[i].address, endpoint->address) == 0)
			return true;
	return false;
}

bool profile_has_site_candidates(const struct profile *profile, const struct site *site)
{
	bool is_host = site->router_namespace == SITE_ROUTER_HOST;

	return profile->candidate_tcp_count == (is_host ? 2 : 1) &&
	       has_candidate(profile, &site->proxy) &&
	       (!is_host || has_candidate(profile, &site->router));
}

/* What mode network_enforcement wants beyond. */
static int check_enforcement(const struct profile *profile, const struct site *site,
			     const char *name, struct diag *diag)
{
	if (profile->expires_at_unix - profile->issued_at_unix >
	    PROFILE_WINDOW_MAX_ENFORCEMENT)
		return refuse_key(name, "expires_at_unix", diag,
				  "more than %d s after issued_at_unix, the longest "
				  "window of mode network_enforcement; issue one for a "
				  "shorter window",
				  PROFILE_WINDOW_MAX_ENFORCEMENT);
	if (!profile_has_site_candidates(profile, site))
		return refuse_key(name, "candidate_tcp", diag,
				  "not exactly the site's %s; issue a new profile for "
				  "this site",
				  site->router_namespace == SITE_ROUTER_HOST
					  ? "router and proxy"
					  : "proxy");
	return 0;
}

int profile_check(const struct profile *profile, const struct site *site,
		  enum profile_mode mode, int64_t now_ms, const char *name,
		  struct diag *diag)
{
	int64_t issued_ms = profile->issued_at_unix * 1000;
	int64_t expires_ms = profile->expires_at_unix * 1000;
	char moment[MOMENT_SIZE];

	if (issued_ms > now_ms)
		return refuse_key(name, "issued_at_unix", diag,
				  "%" PRId64
				  " ms in the future, at %s: mind the clock, and issue "
				  "a new profile",
				  issued_ms - now_ms,
				  moment_format(profile->issued_at_unix, moment));
	if (expires_ms <= now_ms)
		return refuse_key(name, "expires_at_unix", diag,
				  "passed %" PRId64 " s ago, at %s: issue a new profile",
				  (now_ms - expires_ms) / 1000,
				  moment_format(profile->expires_at_unix, moment));
	if (now_ms - issued_ms > PROFILE_AGE_MAX * 1000)
		return refuse_key(name, "issued_at_unix", diag,
				  "%" PRId64 " s ago, more than %d: issue a new profile",
				  (now_ms - issued_ms) / 1000, PROFILE_AGE_MAX);
	if (expires_ms - now_ms > (int64_t)PROFILE_LEFT_MAX * 1000)
		return refuse_key(name, "expires_at_unix", diag,
				  "%" PRId64
				  " s away, more than %d: issue a profile for a shorter "
				  "window",
				  (expires_ms - now_ms) / 1000, PROFILE_LEFT_MAX);
	return mode == PROFILE_MODE_NETWORK_ENFORCEMENT
		       ? check_enforcement(profile, site, name, diag)
		       : 0;
}

int profile_parse_endpoints(const void *data, size_t size, const char *name,
			    struct profile_endpoints *ret_endpoints, struct diag *diag)
{
	struct profile_endpoints endpoints = {0};
	int error = json_table_parse(data, size, PROFILE_LIMIT, name, &endpoints_table,
				     &endpoints, diag);
	const struct endpoint_list lists[] = {
		{"trusted_tcp", endpoints.trusted_tcp, endpoints.trusted_tcp_count,
		 false},
		{"trusted_dns", endpoints.trusted_dns, endpoints.trusted_dns_count,
		 false},
	};

	if (!error)
		error = check_lists(name, lists, ARRAY_SIZE(lists), diag);
	if (error)
		return error;
	*ret_endpoints = endpoints;
	return 0;
}

static void add_candidate(struct profile *profile, const struct site_endpoint *endpoint)
{
	struct profile_endpoint *added =
		&profile->candidate_tcp[profile->candidate_tcp_count++];

	memcpy(added->address, endpoint->address, sizeof(added->address));
	added->port = endpoint->port;
}

int profile_issue(const struct profile_endpoints *endpoints, const struct site *site,
		  int64_t now, int64_t window, const uint8_t key[DIGEST_SIZE],
		  struct profile *ret_profile, struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	struct profile profile = {
		.issued_at_unix = now,
		.expires_at_unix = now + window,
		.trusted_tcp_count = endpoints->trusted_tcp_count,
		.trusted_dns_count = endpoints->trusted_dns_count,
		.trusted_loopback_tcp = endpoints->trusted_loopback_tcp,
	};
	int error;

	if (window < 1 || window > PROFILE_LEFT_MAX)
		return diag_refuse(diag, "window", "not from 1 to %d seconds",
				   PROFILE_LEFT_MAX);
	memcpy(profile.trusted_tcp, endpoints->trusted_tcp, sizeof(profile.trusted_tcp));
	memcpy(profile.trusted_dns, endpoints->trusted_dns, sizeof(profile.trusted_dns));
	if (site->router_namespace == SITE_ROUTER_HOST)
		add_candidate(&profile, &site->router);
	add_candidate(&profile, &site->proxy);
	digest_format_hex(key, DIGEST_SIZE, profile.label_key);
	error = json_table_write(&profile_table, &profile, &bytes, diag);
	/* What is written is what a reader will take: read it back. */
	if (!error)
		error = profile_parse(bytes.data, bytes.size, "profile", &profile, diag);
	if (error)
		return error;
	*ret_profile = profile;
	*ret_bytes = take_bytes(&bytes);
	return 0;
}
