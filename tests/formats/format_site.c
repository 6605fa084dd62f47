// SPDX-License-Identifier: GPL-2.0-or-later
// policy/site with its table, to write what it reads.
#include "policy/site.c"
#include "tests/formats/format_policy.h"

int site_write(const struct site *site, struct bytes *ret_bytes, struct diag *diag)
{
	return json_table_write(&site_table, site, ret_bytes, diag);
}
