# SPDX-License-Identifier: GPL-2.0-or-later
"""Another user's containers, processes and traffic."""
LAYER = "host"
WHEN = "preflight"
DO = """useradd --create-home other
systemd-run --quiet --uid=other --unit=theirs -- unshare --user --map-root-user --net sleep 600
systemd-run --quiet --uid=other --unit=talk -- /usr/bin/python3 -c '
import socket, time
while True:
    try: socket.create_connection(("198.51.100.1", 443), 1).close()
    except OSError: pass
    time.sleep(0.05)'"""
