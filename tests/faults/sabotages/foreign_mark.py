# SPDX-License-Identifier: GPL-2.0-or-later
"""A mark that policy routing could follow."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type route hook output priority 0; meta mark set 1; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "meta set" in chain '
