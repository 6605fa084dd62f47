# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, a relay of root's takes candidates to the host's loopback."""
LAYER = "network"
WHEN = "preflight"
DO = r"""take_tcp 7001 host 127.0.0.1 18080
in_engine iptables -t nat -I PREROUTING -d 10.0.2.2/32 -p tcp --dport 18080 -j REDIRECT --to-ports 7001"""
BAD = {"candidate.host_loopback": "connected"}
