# SPDX-License-Identifier: GPL-2.0-or-later
"""By the kernel's own clock the window is over, by the wall clock it has hardly begun."""
LAYER = "time"
WHEN = "executor agent measured"
DO = """nft "delete element inet $TABLE lease { $SUBJECT }
add element inet $TABLE lease { $SUBJECT timeout 1s }"
sleep 1.2"""
REFUSED = ("set lease: element", "is missing")
