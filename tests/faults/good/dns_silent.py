# SPDX-License-Identifier: GPL-2.0-or-later
"""The resolver answers nothing."""
LAYER = "network"
WHEN = "preflight"


def act(host):
    host.lab.service("mode", "dns", "silent")
