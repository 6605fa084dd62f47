/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An object of a store: which kind its bytes are, and what they say. */
#ifndef VERIFIER_OBJECT_H
#define VERIFIER_OBJECT_H

#include "common/own.h"
#include "policy/preflight.h"
#include "policy/record.h"

enum object_kind { OBJECT_RECORD, OBJECT_PREFLIGHT };

/* Exactly the one that `kind` names is there, on the heap. */
struct object {
	int kind; /* enum object_kind */
	struct record *record;
	struct preflight *preflight;
};

static inline void own_object(struct object *object)
{
	free(object->record);
	free(object->preflight);
	object->record = NULL;
	object->preflight = NULL;
}

/* Decodes what a store keeps, by its `schema`. Bytes of any other schema are refused.
 * `name` is for messages. The caller owns the result. */
int object_decode(const struct bytes *bytes, const char *name, struct object *ret_object,
		  struct diag *diag);

#endif
