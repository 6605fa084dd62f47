// SPDX-License-Identifier: GPL-2.0-or-later
// What the formats of this folder share: rows and the way they are written.
#include "policy/tables.h"

int tables_write_kept(const struct json_table *table, const void *object, size_t limit,
		      const char *name, struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_pointer) void *again = calloc(1, table->size);
	OWN(own_bytes) struct bytes bytes = {0};
	int error;

	if (!again)
		return diag_no_memory(diag);
	error = json_table_write(table, object, &bytes, diag);
	if (!error)
		error = json_table_parse_kept(bytes.data, bytes.size, limit, name, table,
					      again, diag);
	if (error)
		return error;
	*ret_bytes = take_bytes(&bytes);
	return 0;
}
