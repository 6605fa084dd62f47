/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One fuzz target per format: what its decoder accepts comes out as it went in. */
#ifndef TESTS_FUZZ_FORMAT_H
#define TESTS_FUZZ_FORMAT_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/canonical.h"
#include "common/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In mutate.c: LLVMFuzzerCustomMutator(), which changes values inside a document
 * and writes it canonically, since almost no changed byte leaves it canonical. */

/* The bytes that writing must give: `data` itself, or its canonical form where any
 * layout is read. */
static inline void fuzz_expect(const uint8_t *data, size_t size, bool is_kept,
			       const struct bytes *written)
{
	OWN(own_json) json_t *value = NULL;
	OWN(own_bytes) struct bytes canonical = {0};
	struct diag diag = {0};

	if (is_kept) {
		assert(written->size == size && memcmp(written->data, data, size) == 0);
		return;
	}
	assert(json_parse(data, size, size, "again", &value, &diag) == 0);
	assert(canonical_write(value, &canonical, &diag) == 0);
	assert(written->size == canonical.size &&
	       memcmp(written->data, canonical.data, canonical.size) == 0);
}

#define FUZZ_FORMAT(name_, is_kept_)                                                     \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                     \
	{                                                                                \
		static struct name_ object;                                              \
		OWN(own_bytes) struct bytes written = {0};                               \
		struct diag diag = {0};                                                  \
                                                                                         \
		if (name_##_parse(data, size, "input", &object, &diag) != 0) {           \
			assert(diag.kind == DIAG_REFUSED && diag.text[0]);               \
			return 0;                                                        \
		}                                                                        \
		assert(name_##_write(&object, &written, &diag) == 0);                    \
		fuzz_expect(data, size, (is_kept_), &written);                           \
		return 0;                                                                \
	}

#endif
