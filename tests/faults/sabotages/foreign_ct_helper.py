# SPDX-License-Identifier: GPL-2.0-or-later
"""A connection helper opens expected connections of its own."""
LAYER = "foreign"
DO = r"""nft 'table inet evil { ct helper ftp { type "ftp" protocol tcp; }; chain o { type filter hook output priority 0; tcp dport 21 ct helper set "ftp"; }; }'"""
UNDO = "nft delete table inet evil"
REFUSED = 'nf_tables inet evil: "objref" in chain '
