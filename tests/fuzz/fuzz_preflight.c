// SPDX-License-Identifier: GPL-2.0-or-later
// policy/preflight: documents which are written as they were read.
#include "policy/preflight.h"
#include "tests/fuzz/format.h"

FUZZ_FORMAT(preflight, true)
