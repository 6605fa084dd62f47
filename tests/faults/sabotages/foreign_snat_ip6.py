# SPDX-License-Identifier: GPL-2.0-or-later
"""Translation in the other family."""
LAYER = "foreign"
DO = "nft 'table ip6 evil { chain o { type nat hook postrouting priority 100; snat to fd77::99; }; }'"
UNDO = "nft delete table ip6 evil"
REFUSED = 'nf_tables ip6 evil: "nat" in chain '
