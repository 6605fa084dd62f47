# SPDX-License-Identifier: GPL-2.0-or-later
"""Siblings see each other, and something answers at the engine's API port."""
LAYER = "engine"
WHEN = "preflight"
DO = """engine=$(pgrep -x dockerd | head -1)
nsenter -t $engine -n iptables -I DOCKER-USER -j ACCEPT
systemd-run --quiet --unit=sabotage --collect -- nsenter -t $engine -n /usr/bin/python3 -c '
import socket, time
with socket.create_server(("0.0.0.0", 2375)): time.sleep(600)'
until nsenter -t $engine -n ss -Htln | grep -q :2375; do sleep 0.05; done"""
BAD = {"candidate.sibling_attempt": "connected", "candidate.docker_api": "connected"}
