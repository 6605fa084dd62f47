# SPDX-License-Identifier: GPL-2.0-or-later
"""The destination is written into the packet."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type filter hook output priority -400; ip daddr 203.0.113.80 ip daddr set 198.51.100.1; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "payload set" in chain '
