# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own clock lets the window go on when the wall clock has ended it."""
LAYER = "time"
WHEN = "to the expiry"
DO = """nft "delete element inet $TABLE lease { $SUBJECT }
add element inet $TABLE lease { $SUBJECT timeout 10m }"
"""
REFUSED = ("set lease: element", "outlives the window")
