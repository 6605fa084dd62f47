# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody's ban list changes several times a second: the ruleset's generation never rests."""
LAYER = "foreign"
WHEN = "preflight"
DO = """nft 'table inet f2b { set addr { type ipv4_addr; flags timeout; }
chain i { type filter hook input priority -1; ip saddr @addr drop; }; }'
systemd-run --quiet --unit=churn -- /bin/sh -c 'while :; do
nft add element inet f2b addr "{ 192.0.2.77 timeout 1m }"; sleep 0.3
nft delete element inet f2b addr "{ 192.0.2.77 }"; sleep 0.3; done'"""
