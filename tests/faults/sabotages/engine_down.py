# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine is not there."""
LAYER = "engine"
REFUSED = "is inactive, not active"


def act(host):
    host.user_sh("systemctl --user stop $ENGINE")
