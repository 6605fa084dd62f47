# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd accepts connections for a service of the workload's, one instance for each."""
LAYER = "agents"
DO = r"""cd /etc/systemd/system
printf '[Socket]\nListenStream=127.0.0.1:9998\nAccept=yes\n' >each.socket
printf '[Service]\nUser=%s\nExecStart=/bin/cat\n' $SUBJECT >each@.service
systemctl daemon-reload
systemctl start each.socket"""
UNDO = """systemctl stop each.socket
rm /etc/systemd/system/each.socket /etc/systemd/system/each@.service
systemctl daemon-reload"""
REFUSED = ["each.socket: listens on '127.0.0.1:9998' for 'each@0.service'", "stop it"]
