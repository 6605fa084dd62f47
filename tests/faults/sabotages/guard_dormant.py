# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard's table sleeps."""
LAYER = "policy"
DO = "nft add table inet $TABLE '{ flags dormant; }'"
UNDO = "revoke"
REFUSED = ["differs", "the table differs"]
