/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing what the product only reads: sites, and endpoints files. */
#ifndef TESTS_FORMATS_FORMAT_POLICY_H
#define TESTS_FORMATS_FORMAT_POLICY_H

#include "policy/profile.h"
#include "policy/site.h"

int profile_write(const struct profile *profile, struct bytes *ret_bytes,
		  struct diag *diag);
int endpoints_write(const struct profile_endpoints *endpoints, struct bytes *ret_bytes,
		    struct diag *diag);
int site_write(const struct site *site, struct bytes *ret_bytes, struct diag *diag);

#endif
