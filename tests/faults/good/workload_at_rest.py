# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload user's own processes, with sockets of their own, at rest."""
LAYER = "agents"
WHEN = "preflight"
DO = """systemd-run --quiet --uid=$WORKLOAD --unit=rest -- /usr/bin/python3 -c '
import socket, time
kept = [socket.socket(), socket.socket(socket.AF_INET6), socket.create_server(("127.0.0.1", 0))]
time.sleep(600)'"""
