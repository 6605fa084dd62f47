# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule before the reject lets everything go."""
LAYER = "policy"
DO = "nft insert rule inet $TABLE output accept"
UNDO = "revoke"
REFUSED = ["differs", "chain output: rule 1 is not of the policy"]
