// SPDX-License-Identifier: GPL-2.0-or-later
// Listings: what is normalized is normalized again to the same, and has a digest.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/canonical.h"
#include "common/own.h"
#include "policy/normalize.h"
#include "policy/semantic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(own_json) json_t *once = NULL;
	OWN(own_json) json_t *twice = NULL;
	OWN(own_json) json_t *listing = NULL;
	OWN(own_bytes) struct bytes first = {0}, text = {0}, second = {0};
	char digest[DIGEST_TEXT_SIZE];
	struct diag diag = {0};

	if (normalize_listing(data, size, "input", "netproof", &once, &diag) != 0) {
		assert(diag.kind == DIAG_UNDECIDED);
		return 0;
	}
	assert(canonical_write(once, &first, &diag) == 0);
	assert(semantic_digest(once, digest, &diag) == 0);
	listing = json_pack("{s:O}", "nftables", once);
	assert(listing && canonical_write(listing, &text, &diag) == 0);
	assert(normalize_listing(text.data, text.size, "again", "netproof", &twice,
				 &diag) == 0);
	assert(canonical_write(twice, &second, &diag) == 0);
	assert(first.size == second.size &&
	       memcmp(first.data, second.data, first.size) == 0);
	return 0;
}
