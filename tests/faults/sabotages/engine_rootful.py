# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of root's answers on the engine's socket."""
LAYER = "engine"
LAST = True
DO = """mv $SOCKET $SOCKET.away
systemd-run --quiet --unit=rootful --collect -- /usr/bin/python3 -c '
import socket, sys, time
with socket.socket(socket.AF_UNIX) as s:
    s.bind(sys.argv[1]); s.listen()
    time.sleep(600)' $SOCKET
until [ -S $SOCKET ]; do sleep 0.05; done"""
UNDO = """systemctl stop rootful
rm -f $SOCKET
mv $SOCKET.away $SOCKET"""
REFUSED = "is served by uid 0, not the workload user"
