// SPDX-License-Identifier: GPL-2.0-or-later
// policy/catalog: documents which are written as they were read.
#include "policy/catalog.h"
#include "tests/fuzz/format.h"

FUZZ_FORMAT(catalog, true)
