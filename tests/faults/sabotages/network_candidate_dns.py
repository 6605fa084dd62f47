# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, a resolver answers everything that candidates ask."""
LAYER = "network"
WHEN = "preflight"
DO = r"""take_dns 7053
in_engine iptables -t nat -I PREROUTING -p udp --dport 53 -j REDIRECT --to-ports 7053"""
BAD = {"candidate.dns": "connected"}
