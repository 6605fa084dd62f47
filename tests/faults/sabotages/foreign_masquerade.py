# SPDX-License-Identifier: GPL-2.0-or-later
"""What leaves gets another source address."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type nat hook postrouting priority 100; masquerade; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "masq" in chain '
