# SPDX-License-Identifier: GPL-2.0-or-later
"""Another collection holds the lock."""
LAYER = "collector"
DO = """mkdir -p -m 700 /var/lib/netproof-collector
systemd-run --quiet --unit=lock -- /usr/bin/flock /var/lib/netproof-collector/lock sleep 600
until ! flock -n /var/lib/netproof-collector/lock true; do sleep 0.05; done"""
UNDO = "systemctl stop lock"
REFUSED = "busy"
