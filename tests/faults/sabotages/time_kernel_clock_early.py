# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own clock ends the window before the wall clock does."""
LAYER = "time"
WHEN = "executor agent measured"
DO = """nft "delete element inet $TABLE lease { $SUBJECT }
add element inet $TABLE lease { $SUBJECT timeout 9s }"
"""
REFUSED = ("set lease: element", "ends before the window does")
