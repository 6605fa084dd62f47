# SPDX-License-Identifier: GPL-2.0-or-later
"""A drop-in for every service takes IPv6 sockets away, the worker's among them."""
LAYER = "units"
WHEN = "preflight"
DO = """mkdir -p /etc/systemd/system/service.d
printf '[Service]\\nRestrictAddressFamilies=AF_UNIX AF_INET AF_NETLINK\\n' >/etc/systemd/system/service.d/sabotage.conf
systemctl daemon-reload"""
UNDO = """rm -r /etc/systemd/system/service.d
systemctl daemon-reload"""
PREFLIGHT_REFUSED = ["netproof-worker.service", "its RestrictAddressFamilies is "]
