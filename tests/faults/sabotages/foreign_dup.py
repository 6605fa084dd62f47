# SPDX-License-Identifier: GPL-2.0-or-later
"""A copy of each packet leaves before we look; the copy has no socket."""
LAYER = "foreign"
DO = r"""nft 'table ip evil { chain o { type filter hook output priority -400; dup to 192.168.77.1 device "eth0"; }; }'"""
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "dup" in chain '
