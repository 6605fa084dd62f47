# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule more in the open policy."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = "nft insert rule inet $TABLE scoped_output tcp dport 9 accept"
REFUSED = ["differs", "chain scoped_output: rule 1 is not of the policy"]
