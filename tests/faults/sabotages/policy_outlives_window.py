# SPDX-License-Identifier: GPL-2.0-or-later
"""The lease is put in again, an hour longer than the window."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = """nft "delete element inet $TABLE lease { $SUBJECT }; add element inet $TABLE lease { $SUBJECT timeout 1h }"
"""
REFUSED = ["differs", "outlives the window"]
