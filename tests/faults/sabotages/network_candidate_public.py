# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, somebody takes the candidate's connections to the public target."""
LAYER = "network"
WHEN = "preflight"
DO = r"""take_tcp 7001 answer
in_engine iptables -t nat -I PREROUTING -d 1.1.1.1/32 -p tcp --dport 443 -j REDIRECT --to-ports 7001"""
BAD = {"candidate.public": "connected"}
