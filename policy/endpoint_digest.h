/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Naming an endpoint without its address: SPEC 8's keyed digest. */
#ifndef POLICY_ENDPOINT_DIGEST_H
#define POLICY_ENDPOINT_DIGEST_H

#include <stdint.h>

#include "common/digest.h"

enum endpoint_role {
	ENDPOINT_ROLE_TRUSTED_TCP,
	ENDPOINT_ROLE_TRUSTED_DNS,
	ENDPOINT_ROLE_ROUTER,
	ENDPOINT_ROLE_PROXY,
	ENDPOINT_ROLE_COUNT,
};

extern const char *const endpoint_role_names[];

/* HMAC-SHA-256 under the profile's label key (64 hex digits), over the canonical
 * bytes of {"address":…,"port":…,"role":…}. Without the key, which never leaves the
 * profile, all of IPv4 cannot be tried. */
int endpoint_digest(const char *label_key, const char *address, int64_t port,
		    enum endpoint_role role, char ret_sha256[DIGEST_TEXT_SIZE],
		    struct diag *diag);

#endif
