# SPDX-License-Identifier: GPL-2.0-or-later
"""Another uid has a lease."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = """nft "add element inet $TABLE lease { 4242 timeout 10s }"
"""
REFUSED = ["differs", "set lease: element 4242 is not of the policy"]
