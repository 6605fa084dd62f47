# SPDX-License-Identifier: GPL-2.0-or-later
"""Once the worker has gone, somebody listens in the router's place."""
LAYER = "network"
WHEN = "to the expiry"
DO = r"""take_tcp 7001 answer
in_engine iptables -t nat -I PREROUTING -d $ROUTER_ADDRESS/32 -p tcp --dport $ROUTER_PORT -j REDIRECT --to-ports 7001"""
BAD = {"candidate.router.new_after_expiry": "connected"}
