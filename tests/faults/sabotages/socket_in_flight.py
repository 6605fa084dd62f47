# SPDX-License-Identifier: GPL-2.0-or-later
"""Root's socket waits in a Unix socket's queue, for a workload process to take."""
LAYER = "agents"
DO = """systemd-run --quiet --unit=holder -- /usr/bin/python3 -c '
import os, socket, sys, time
one, other = socket.socketpair()
kept = socket.socket(); socket.send_fds(one, [b"x"], [kept.fileno()]); kept.close()
uid = int(sys.argv[1]); os.setgid(uid); os.setuid(uid)
time.sleep(600)' $SUBJECT
until grep -q "^Uid:.$SUBJECT" /proc/$(systemctl show -P MainPID holder)/status; do sleep 0.05; done"""
UNDO = "systemctl stop holder"
REFUSED = "descriptors in flight"
