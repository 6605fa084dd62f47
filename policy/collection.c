// SPDX-License-Identifier: GPL-2.0-or-later
// The collector's configuration (netproof.collection.v1).
#include "policy/collection.h"

#include "common/json_table.h"
#include "common/protected.h"

static const struct json_field fields[] = {
	{JSON_LITERAL("schema", "netproof.collection.v1")},
	{JSON_TEXT(struct collection, site, 1, &json_rule_path)},
	{JSON_TEXT(struct collection, release, 1, &json_rule_path)},
	{JSON_DIGEST(struct collection, release_sha256)},
	{JSON_TEXT(struct collection, profile, 1, &json_rule_path)},
	{JSON_TEXT(struct collection, store, 1, &json_rule_path)},
	{JSON_DIGEST(struct collection, machine_id_sha256)},
	{JSON_TEXT(struct collection, boot_id, 1, &host_boot_id_rule)},
	{JSON_DIGEST(struct collection, pre_collection_preflight_sha256)},
};

static const struct json_table table = JSON_TABLE(struct collection, fields);

int collection_parse(const void *data, size_t size, const char *name,
		     struct collection *ret_collection, struct diag *diag)
{
	return json_table_parse(data, size, COLLECTION_LIMIT, name, &table,
				ret_collection, diag);
}

int collection_read(const char *path, uid_t owner, struct collection *ret_collection,
		    char ret_sha256[DIGEST_TEXT_SIZE], struct diag *diag)
{
	OWN(own_bytes) struct bytes bytes = {0};
	int error = protected_read(path, owner, PROTECTED_FILE, COLLECTION_LIMIT, &bytes,
				   diag);

	if (!error)
		error = collection_parse(bytes.data, bytes.size, path, ret_collection,
					 diag);
	if (error)
		return error;
	if (ret_sha256)
		digest_bytes(bytes.data, bytes.size, ret_sha256);
	return 0;
}

int collection_write(const struct collection *collection, struct bytes *ret_bytes,
		     struct diag *diag)
{
	return json_table_write(&table, collection, ret_bytes, diag);
}
