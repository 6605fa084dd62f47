# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate is given IPv6, and somebody in the engine's own network takes where it leads."""
LAYER = "network"
WHEN = "executor agent measured"
DO = r"""bridge=$(in_engine ip -o -4 address show to $ROUTER_ADDRESS/32 | sed 's/^[0-9]*: *\([^ ]*\).*/\1/')
in_engine sysctl -q -w net.ipv6.conf.$bridge.disable_ipv6=0 net.ipv6.conf.lo.disable_ipv6=0
in_engine ip -6 address add fd99::1/64 dev $bridge nodad
in_engine ip -6 address add 2606:4700:4700::1111/128 dev lo
take_tcp 443 answer
in_candidate sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=0
in_candidate ip -6 address add fd99::2/64 dev eth0 nodad
in_candidate ip -6 route add default via fd99::1"""
BAD = {"candidate.ipv6": "connected"}
