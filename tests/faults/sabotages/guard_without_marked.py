# SPDX-License-Identifier: GPL-2.0-or-later
"""What a dead process left queued is not rejected."""
LAYER = "policy"
DO = """nft flush chain inet $TABLE marked_output
nft delete chain inet $TABLE marked_output"""
UNDO = "revoke"
REFUSED = ["differs", "chain marked_output is missing"]
