# SPDX-License-Identifier: GPL-2.0-or-later
"""There is no guard in the kernel."""
LAYER = "policy"
DO = "nft delete table inet $TABLE"
UNDO = "revoke"
REFUSED = ["differs", "the table is missing"]
