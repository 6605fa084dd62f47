// SPDX-License-Identifier: GPL-2.0-or-later
// policy/release: documents which are written as they were read.
#include "policy/release.h"
#include "tests/fuzz/format.h"

FUZZ_FORMAT(release, true)
