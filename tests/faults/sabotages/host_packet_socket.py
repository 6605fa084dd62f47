# SPDX-License-Identifier: GPL-2.0-or-later
"""A packet socket of the workload's own, made while it had a capability: no output hook sees what it sends."""
LAYER = "host"
DO = """systemd-run --quiet --unit=holder --uid=$WORKLOAD -p AmbientCapabilities=CAP_NET_RAW \\
	/usr/bin/python3 -c '
import ctypes, os, socket
kept = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
kept.set_inheritable(True)
ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, CLEAR_ALL
os.execv("/usr/bin/sleep", ["sleep", "600"])'
until grep -q sleep /proc/$(systemctl show -P MainPID holder)/comm; do sleep 0.05; done"""
UNDO = "systemctl stop holder"
REFUSED = "packet sockets: the workload"
