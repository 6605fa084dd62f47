# SPDX-License-Identifier: GPL-2.0-or-later
"""A condition that does not hold: the start does nothing, and is no failure."""
LAYER = "units"
WHEN = "preflight"
DO = r"""mkdir -p /etc/systemd/system/$WORKER.d
printf '[Unit]\nConditionPathExists=/nowhere\n' >/etc/systemd/system/$WORKER.d/sabotage.conf
systemctl daemon-reload"""
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = ["its Conditions is ", "/nowhere"]
