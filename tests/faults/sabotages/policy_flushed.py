# SPDX-License-Identifier: GPL-2.0-or-later
"""The open policy's rules are flushed: everything may leave."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = "nft flush chain inet $TABLE scoped_output"
REFUSED = ["differs", "chain scoped_output: rule 1 is missing"]
