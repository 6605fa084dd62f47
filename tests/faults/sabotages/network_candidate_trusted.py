# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, a relay takes candidates to the trusted endpoint."""
LAYER = "network"
WHEN = "preflight"
DO = r"""take_tcp 7001 answer
in_engine iptables -t nat -I PREROUTING -d 198.51.100.1/32 -p tcp --dport 443 -j REDIRECT --to-ports 7001"""
BAD = {"candidate.trusted": "connected"}
