# SPDX-License-Identifier: GPL-2.0-or-later
"""A ban list that bans while the collection runs."""
LAYER = "foreign"
WHEN = "candidate.router.connect"
FIRST = """nft 'table inet f2b { set addr { type ipv4_addr; flags timeout; timeout 1h; }
chain i { type filter hook input priority -1; ip saddr @addr drop; }; }'"""
DO = "nft add element inet f2b addr '{ 192.0.2.77 }'"
