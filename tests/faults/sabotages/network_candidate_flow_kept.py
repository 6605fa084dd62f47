# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, somebody between keeps the candidate's flow when the router ends."""
LAYER = "network"
WHEN = "expiry"
DO = r"""take_tcp 7001 keep $ROUTER_ADDRESS $ROUTER_PORT
in_engine iptables -t nat -I PREROUTING -d $ROUTER_ADDRESS/32 -p tcp --dport $ROUTER_PORT -j REDIRECT --to-ports 7001"""
BAD = {"candidate.router.established_after_expiry": "connected"}
