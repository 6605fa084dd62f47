# SPDX-License-Identifier: GPL-2.0-or-later
"""A lossy network: the first packet of every connection is lost, and sent again."""
LAYER = "network"
WHEN = "preflight"
HOST = {"timeouts": {"connect_ms": 6000, "check_ms": 6000, "accept_ms": 1500, "dns_ms": 1500,
                     "proxy_ms": 1500}}
WORLD = """nft 'table ip lossy {
set seen { type ipv4_addr . inet_service . ipv4_addr . inet_service; flags dynamic, timeout; timeout 1m; }
chain p { type filter hook prerouting priority -300
    tcp flags & (syn | ack) != syn accept
    ip saddr . tcp sport . ip daddr . tcp dport @seen accept
    add @seen { ip saddr . tcp sport . ip daddr . tcp dport } drop; }; }'"""
