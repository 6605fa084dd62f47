# SPDX-License-Identifier: GPL-2.0-or-later
"""A forbidden target becomes a trusted one on its way out."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type nat hook output priority -100; ip daddr 203.0.113.80 dnat to 198.51.100.1; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "nat" in chain '
