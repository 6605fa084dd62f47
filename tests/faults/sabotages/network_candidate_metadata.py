# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, somebody answers in the metadata service's place."""
LAYER = "network"
WHEN = "preflight"
DO = r"""take_tcp 7001 answer
in_engine iptables -t nat -I PREROUTING -d 169.254.169.254/32 -p tcp --dport 80 -j REDIRECT --to-ports 7001"""
BAD = {"candidate.metadata": "connected"}
