# SPDX-License-Identifier: GPL-2.0-or-later
"""The same under a subordinate uid, over IPv6."""
LAYER = "agents"
DO = """systemd-run --quiet --unit=holder -- /usr/bin/python3 -c '
import os, socket, sys, time
kept = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
uid = int(sys.argv[1]); os.setgid(uid); os.setuid(uid)
time.sleep(600)' $SUBORDINATE
until grep -q "^Uid:.$SUBORDINATE" /proc/$(systemctl show -P MainPID holder)/status; do sleep 0.05; done"""
UNDO = "systemctl stop holder"
REFUSED = "holds a socket of uid 0"
