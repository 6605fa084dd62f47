# SPDX-License-Identifier: GPL-2.0-or-later
"""Another mark is one of ours."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = """nft "add element inet $TABLE flows { 0x1234 timeout 10s }"
"""
REFUSED = ["differs", "set flows: element 0x00001234 is not of the policy"]
