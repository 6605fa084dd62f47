/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profile: what the operator grants, and until when. */
#ifndef POLICY_PROFILE_H
#define POLICY_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/digest.h"
#include "common/inet.h"
#include "common/own.h"
#include "policy/site.h"

#define PROFILE_LIMIT 65536 /* bytes of a profile, or of an endpoints file */
#define PROFILE_TCP_MAX 32
#define PROFILE_DNS_MAX 2
#define PROFILE_CANDIDATE_MAX 2

#define PROFILE_AGE_MAX 300    /* seconds from issue to install */
#define PROFILE_LEFT_MAX 86400 /* seconds from install to expiry */
/* The same two in mode network_enforcement: from issue to expiry. */
#define PROFILE_WINDOW_MAX_ENFORCEMENT 280

/* `address` is a canonical IPv4 literal. */
struct profile_endpoint {
	char address[INET_TEXT_SIZE];
	int64_t port;
};

/* What `net-policy issue` is given (netproof.endpoints.v1). */
struct profile_endpoints {
	struct profile_endpoint trusted_tcp[PROFILE_TCP_MAX];
	size_t trusted_tcp_count;
	struct profile_endpoint trusted_dns[PROFILE_DNS_MAX];
	size_t trusted_dns_count;
	bool trusted_loopback_tcp;
};

/* netproof.connectivity.v2 */
struct profile {
	int64_t issued_at_unix, expires_at_unix;
	struct profile_endpoint trusted_tcp[PROFILE_TCP_MAX];
	size_t trusted_tcp_count;
	struct profile_endpoint trusted_dns[PROFILE_DNS_MAX];
	size_t trusted_dns_count;
	bool trusted_loopback_tcp;
	struct profile_endpoint candidate_tcp[PROFILE_CANDIDATE_MAX];
	size_t candidate_tcp_count;
	char label_key[DIGEST_TEXT_SIZE]; /* secret: never printed */
	char sha256[DIGEST_TEXT_SIZE];    /* of the file's bytes */
};

extern const struct json_table profile_table;

enum profile_mode {
	PROFILE_MODE_PLAIN,
	PROFILE_MODE_NETWORK_ENFORCEMENT,
};

/* Decodes a profile's bytes; `name` is what messages call it. A refusal names
 * the key. `*ret_profile` changes only on success, here and below. */
int profile_parse(const void *data, size_t size, const char *name,
		  struct profile *ret_profile, struct diag *diag);

/* Reads a private protected file (owner: root or `owner`). */
int profile_read(const char *path, uid_t owner, struct profile *ret_profile,
		 struct diag *diag);

/* Whether candidates may reach exactly what a collection at this site has them reach:
 * its proxy, and its router where that is the host's (SPEC 5.1). */
bool profile_has_site_candidates(const struct profile *profile, const struct site *site);

/* Whether the profile may be installed at `now_ms` (milliseconds since 1970), and
 * in mode network_enforcement, at this site. `name` goes before the key in the
 * refusal. */
int profile_check(const struct profile *profile, const struct site *site,
		  enum profile_mode mode, int64_t now_ms, const char *name,
		  struct diag *diag);

/* Decodes an endpoints file. */
int profile_parse_endpoints(const void *data, size_t size, const char *name,
			    struct profile_endpoints *ret_endpoints, struct diag *diag);

/* Makes the profile of `endpoints` at `site`, candidates being the site's router
 * and proxy (router_namespace "host") or its proxy alone, valid for `window`
 * seconds from `now`. `key` is 32 random bytes. `ret_bytes`, the file's content,
 * belongs to the caller. */
int profile_issue(const struct profile_endpoints *endpoints, const struct site *site,
		  int64_t now, int64_t window, const uint8_t key[DIGEST_SIZE],
		  struct profile *ret_profile, struct bytes *ret_bytes,
		  struct diag *diag);

#endif
