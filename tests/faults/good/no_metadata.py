# SPDX-License-Identifier: GPL-2.0-or-later
"""A network without a metadata service."""
LAYER = "network"
WHEN = "preflight"


def act(host):
    host.lab.service("stop", "metadata")
