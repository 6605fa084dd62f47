// SPDX-License-Identifier: GPL-2.0-or-later
// policy/targets: documents in any layout, which lose nothing.
#include "policy/targets.h"
#include "tests/fuzz/format.h"

FUZZ_FORMAT(targets, false)
