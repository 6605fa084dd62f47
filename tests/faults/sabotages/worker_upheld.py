# SPDX-License-Identifier: GPL-2.0-or-later
"""Another unit starts the worker again whenever it has stopped."""
LAYER = "units"
WHEN = "preflight"
DO = r"""printf '[Unit]\nUpholds=%s\n[Service]\nExecStart=/bin/sleep 600\n' $WORKER >/etc/systemd/system/upholder.service
systemctl daemon-reload
systemctl start upholder.service"""
UNDO = """systemctl stop upholder.service $WORKER
systemctl reset-failed $WORKER 2>/dev/null || :
rm /etc/systemd/system/upholder.service
systemctl daemon-reload"""
PREFLIGHT_REFUSED = ["its UpheldBy is ", "upholder.service"]
