/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the formats of this folder share: rows and the way they are written. */
#ifndef POLICY_TABLES_H
#define POLICY_TABLES_H

#include "common/canonical.h"
#include "common/json_table.h"

extern const struct json_table release_programs_table; /* release.c */
extern const struct json_rule release_image_rule;      /* release.c */

/* A row for a time in seconds since 1970. */
#define TABLES_TIME(struct_, member_)                                                    \
	JSON_INTEGER(struct_, member_, 0, CANONICAL_KEPT_MAX)

/* json_table_write(), and what json_table_parse_kept() would not read back is
 * refused: nothing is written that a reader refuses. */
int tables_write_kept(const struct json_table *table, const void *object, size_t limit,
		      const char *name, struct bytes *ret_bytes, struct diag *diag);

#endif
