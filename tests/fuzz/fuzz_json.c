// SPDX-License-Identifier: GPL-2.0-or-later
// Strict JSON: what is accepted has canonical bytes, which are accepted again and
// come out the same.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/canonical.h"
#include "common/json.h"

#define LIMIT 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(own_json) json_t *first = NULL;
	OWN(own_json) json_t *second = NULL;
	OWN(own_bytes) struct bytes once = {0}, twice = {0};
	struct diag diag = {0};

	if (json_parse(data, size, LIMIT, "input", &first, &diag) != 0) {
		assert(diag.kind == DIAG_REFUSED);
		return 0;
	}
	assert(canonical_write(first, &once, &diag) == 0);
	/* Escapes written out can make the canonical form longer than the limit. */
	assert(json_parse(once.data, once.size, 6 * LIMIT, "again", &second, &diag) == 0);
	assert(canonical_write(second, &twice, &diag) == 0);
	assert(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
	return 0;
}
