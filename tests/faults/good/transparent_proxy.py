# SPDX-License-Identifier: GPL-2.0-or-later
"""Upstream, a transparent proxy takes every connection, whatever it is for."""
LAYER = "network"
WHEN = "preflight"


def act(host):
    host.lab.service("add", "taker", "tcp", "192.168.77.1", "3128")
    host.lab.world("/bin/sh", "-ec", "nft 'table ip taker { chain p { type nat hook prerouting "
                   "priority -100; tcp dport 1-65535 redirect to :3128; }; }'")
