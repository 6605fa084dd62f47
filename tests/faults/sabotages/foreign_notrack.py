# SPDX-License-Identifier: GPL-2.0-or-later
"""Untracked packets match no rule on connections."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type filter hook output priority raw; notrack; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "notrack" in chain '
