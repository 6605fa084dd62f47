// SPDX-License-Identifier: GPL-2.0-or-later
// An object of a store: which kind its bytes are, and what they say.
#include "verifier/object.h"

#include <string.h>

#include "common/json.h"
#include "common/store.h"

static int find_kind(const struct bytes *bytes, const char *name, int *ret_kind,
		     struct diag *diag)
{
	OWN(own_json) json_t *root = NULL;
	struct json_at at = {NULL, name, 0, NULL};
	const char *schema;
	int error = json_parse(bytes->data, bytes->size, STORE_OBJECT_LIMIT, name, &root,
			       diag);

	if (error)
		return error;
	schema = json_string_value(json_object_get(root, "schema"));
	at.value = root;
	if (schema && strcmp(schema, "netproof.record.v1") == 0)
		*ret_kind = OBJECT_RECORD;
	else if (schema && strcmp(schema, "netproof.preflight.v4") == 0)
		*ret_kind = OBJECT_PREFLIGHT;
	else
		return json_refuse(&(struct json_at){&at, "schema", 0, NULL}, diag,
				   "neither a record's nor a preflight's");
	return 0;
}

int object_decode(const struct bytes *bytes, const char *name, struct object *ret_object,
		  struct diag *diag)
{
	OWN(own_object) struct object object = {0};
	int error = find_kind(bytes, name, &object.kind, diag);

	if (error)
		return error;
	if (object.kind == OBJECT_RECORD) {
		object.record = calloc(1, sizeof(*object.record));
		error = object.record ? record_parse(bytes->data, bytes->size, name,
						     object.record, diag)
				      : diag_no_memory(diag);
	} else {
		object.preflight = calloc(1, sizeof(*object.preflight));
		error = object.preflight ? preflight_parse(bytes->data, bytes->size, name,
							   object.preflight, diag)
					 : diag_no_memory(diag);
	}
	if (error)
		return error;
	ret_object->kind = object.kind;
	ret_object->record = TAKE_POINTER(object.record);
	ret_object->preflight = TAKE_POINTER(object.preflight);
	return 0;
}
