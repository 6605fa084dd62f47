# SPDX-License-Identifier: GPL-2.0-or-later
"""A failed start, which the last phase is about, starts something else."""
LAYER = "units"
WHEN = "preflight"
DO = r"""mkdir -p /etc/systemd/system/$WORKER.d
printf '[Unit]\nOnFailure=rescue.service\n' >/etc/systemd/system/$WORKER.d/sabotage.conf
systemctl daemon-reload"""
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = ["its OnFailure is ", "rescue.service"]
