# SPDX-License-Identifier: GPL-2.0-or-later
"""Root hands a socket over while the collection runs."""
LAYER = "agents"
WHEN = "worker agent measured"
DO = """systemd-run --quiet --unit=holder -- /usr/bin/python3 -c '
import os, socket, sys, time
kept = socket.socket(socket.AF_INET)
uid = int(sys.argv[1]); os.setgid(uid); os.setuid(uid)
time.sleep(600)' $SUBJECT
until grep -q "^Uid:.$SUBJECT" /proc/$(systemctl show -P MainPID holder)/status; do sleep 0.05; done"""
REFUSED = "holds a socket of uid 0"
