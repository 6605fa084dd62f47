# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole table goes, in the middle."""
LAYER = "policy"
WHEN = "candidate.router.connect"
DO = "nft delete table inet $TABLE"
REFUSED = ["differs", "the table is missing"]
