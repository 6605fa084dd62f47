// SPDX-License-Identifier: GPL-2.0-or-later
// policy/profile: documents which are written as they were read. Nothing else writes a
// profile from its struct, so the module itself is included, for its table.
#include "policy/profile.c"
#include "tests/fuzz/format.h"

static int profile_write(const struct profile *profile, struct bytes *ret_bytes,
			 struct diag *diag)
{
	return json_table_write(&profile_table, profile, ret_bytes, diag);
}

FUZZ_FORMAT(profile, false)
