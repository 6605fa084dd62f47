// SPDX-License-Identifier: GPL-2.0-or-later
// policy/collection: documents in any layout, which lose nothing.
#include "policy/collection.h"
#include "tests/fuzz/format.h"

FUZZ_FORMAT(collection, false)
