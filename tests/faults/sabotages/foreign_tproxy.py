# SPDX-License-Identifier: GPL-2.0-or-later
"""Arriving packets are handed to a local socket."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain p { type filter hook prerouting priority mangle; tcp dport 443 tproxy to :80; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "tproxy" in chain '
