# SPDX-License-Identifier: GPL-2.0-or-later
"""Without any file of root's own: a property set at run time."""
LAYER = "units"
WHEN = "preflight"
DO = "systemctl set-property --runtime $WORKER IPAddressDeny=203.0.113.80"
UNDO = """rm -rf /run/systemd/system.control/$WORKER.d
systemctl daemon-reload"""
PREFLIGHT_REFUSED = "its IPAddressDeny is "
