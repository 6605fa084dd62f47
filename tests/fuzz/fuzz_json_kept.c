// SPDX-License-Identifier: GPL-2.0-or-later
// common/json_kept: it accepts what the way through a tree accepts, with the same
// result.
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/kept_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kept_sample quick, tree;
	bool is_read = kept_sample_read(data, size, &quick);

	assert(is_read == kept_sample_read_tree(data, size, &tree));
	assert(!is_read || memcmp(&quick, &tree, sizeof(quick)) == 0);
	return 0;
}
