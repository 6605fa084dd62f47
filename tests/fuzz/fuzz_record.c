// SPDX-License-Identifier: GPL-2.0-or-later
// policy/record: documents which are written as they were read.
#include "policy/record.h"
#include "tests/fuzz/format.h"

FUZZ_FORMAT(record, true)
