# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard stands for IPv4 alone."""
LAYER = "policy"
DO = """nft -s list table inet $TABLE | sed "s/^table inet/table ip/; s/with icmpx [a-z-]*/with icmp admin-prohibited/" >/run/forged
nft delete table inet $TABLE
nft -f /run/forged"""
UNDO = """nft delete table ip $TABLE
revoke"""
REFUSED = ["differs", "the table is missing"]
