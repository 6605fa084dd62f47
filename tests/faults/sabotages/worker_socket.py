# SPDX-License-Identifier: GPL-2.0-or-later
"""A socket unit hands root's own sockets to the worker."""
LAYER = "units"
WHEN = "preflight"
DO = r"""printf '[Socket]\nListenStream=127.0.0.1:9999\nService=%s\n' $WORKER >/etc/systemd/system/handed.socket
systemctl daemon-reload
systemctl start handed.socket"""
UNDO = """systemctl stop handed.socket
rm /etc/systemd/system/handed.socket
systemctl daemon-reload"""
PREFLIGHT_REFUSED = ["its TriggeredBy is ", "handed.socket"]
