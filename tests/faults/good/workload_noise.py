# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes of the workload user try all the time, in vain."""
LAYER = "agents"
WHEN = "preflight"
DO = """systemd-run --quiet --uid=$WORKLOAD --unit=noise -- /usr/bin/python3 -c '
import socket, time
while True:
    try: socket.create_connection(("192.0.2.200", 9), 1).close()
    except OSError: pass
    time.sleep(0.02)'"""
