// SPDX-License-Identifier: GPL-2.0-or-later
// policy/site: documents which are written as they were read.
#include "policy/site.h"
#include "tests/fuzz/format.h"

static int site_write(const struct site *site, struct bytes *ret_bytes, struct diag *diag)
{
	return json_table_write(&site_table, site, ret_bytes, diag);
}

FUZZ_FORMAT(site, false)
