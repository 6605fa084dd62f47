# SPDX-License-Identifier: GPL-2.0-or-later
"""A connection tracking zone hides our flows' marks."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type filter hook output priority raw; ct zone set 9; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "ct set" in chain '
