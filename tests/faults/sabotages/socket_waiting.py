# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd keeps a socket of root's for a service of the workload's, which nothing has started yet."""
LAYER = "agents"
DO = r"""cd /etc/systemd/system
printf '[Socket]\nListenDatagram=127.0.0.1:9998\n' >waiting.socket
printf '[Service]\nUser=%s\nExecStart=/bin/cat\n' $WORKLOAD >waiting.service
systemctl daemon-reload
systemctl start waiting.socket"""
UNDO = """systemctl stop waiting.socket
rm /etc/systemd/system/waiting.socket /etc/systemd/system/waiting.service
systemctl daemon-reload"""
REFUSED = ["waiting.socket: listens on '127.0.0.1:9998' for 'waiting.service'", "stop it"]
