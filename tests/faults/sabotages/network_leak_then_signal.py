# SPDX-License-Identifier: GPL-2.0-or-later
"""A leak was seen before the collection is interrupted: what it ends with names the leak."""
LAYER = "network"
WHEN = "stop_rollback"
FIRST = r"""take_tcp 7001 answer
in_engine iptables -t nat -I PREROUTING -d 1.1.1.1/32 -p tcp --dport 443 -j REDIRECT --to-ports 7001"""
DO = "kill -TERM $(collector)"
REFUSED = ("interrupted by SIGTERM", "leaks already seen: candidate.public")
