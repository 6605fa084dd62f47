// SPDX-License-Identifier: GPL-2.0-or-later
// policy/profile with its tables, to write what it reads.
#include "policy/profile.c"
#include "tests/formats/format_policy.h"

int profile_write(const struct profile *profile, struct bytes *ret_bytes,
		  struct diag *diag)
{
	return json_table_write(&profile_table, profile, ret_bytes, diag);
}

int endpoints_write(const struct profile_endpoints *endpoints, struct bytes *ret_bytes,
		    struct diag *diag)
{
	return json_table_write(&endpoints_table, endpoints, ret_bytes, diag);
}
