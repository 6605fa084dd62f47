# SPDX-License-Identifier: GPL-2.0-or-later
"""In the engine's own network, another proxy takes the refusing one's place, and forwards."""
LAYER = "network"
WHEN = "preflight"
DO = r"""take_tcp 7001 forward
in_engine iptables -t nat -I PREROUTING -d $PROXY_ADDRESS/32 -p tcp --dport $PROXY_PORT -j REDIRECT --to-ports 7001"""
BAD = {"candidate.proxy.forward": "proxy_forwarded"}
