// SPDX-License-Identifier: GPL-2.0-or-later
// policy/profile: documents which are written as they were read.
#include "policy/profile.h"
#include "tests/fuzz/format.h"

static int profile_write(const struct profile *profile, struct bytes *ret_bytes,
			 struct diag *diag)
{
	return json_table_write(&profile_table, profile, ret_bytes, diag);
}

FUZZ_FORMAT(profile, false)
