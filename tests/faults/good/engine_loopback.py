# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine would let containers at the host's loopback; the policy does not."""
LAYER = "engine"
WHEN = "preflight"


def act(host):
    host.engine_line("--disable-host-loopback", "")
