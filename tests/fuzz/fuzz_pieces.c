// SPDX-License-Identifier: GPL-2.0-or-later
// Listings in pieces: what is joined has the rules and chains that were asked for.
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const chains[] = {"a", "b"};
	OWN(own_bytes) struct bytes listing = {0};
	struct bytes text = {0};
	struct diag diag = {0};
	struct pieces pieces = {.table = "t", .chains = chains};
	int error;

	/* The first byte says what the kernel has; the rest is in memory of its size. */
	if (!size)
		return 0;
	pieces.chain_count = data[0] % 3;
	pieces.set_count = data[0] / 3 % 3;
	pieces.rule_count = data[0] / 9 % 4;
	text.size = size - 1;
	text.data = malloc(size);
	assert(text.data);
	memcpy(text.data, data + 1, text.size);
	error = pieces_join(&pieces, &text, &listing, &diag);
	assert(error ? error == -EBADMSG && diag.kind == DIAG_UNDECIDED
		     : listing.size <= text.size + 1 && listing.data[0] == '{');
	own_bytes(&text);
	return 0;
}
