# SPDX-License-Identifier: GPL-2.0-or-later
"""The process in which libnftables works is killed when it has begun."""
LAYER = "collector"
WHEN = "candidate.host_ids"
# The library reads this file first, and waits there for what a pipe will say.
DO = """mkfifo /etc/iproute2/rt_marks
systemd-run --quiet --unit=killer -- /usr/bin/python3 -c '
import glob, os, sys
def is_reading(fd):
    try: return os.readlink(fd) == sys.argv[1] and fd.split("/")[2] != str(os.getpid())
    except OSError: return False
with open(sys.argv[1], "w"):
    while not (found := list(filter(is_reading, glob.glob("/proc/[0-9]*/fd/*")))): pass
    for fd in found: os.kill(int(fd.split("/")[2]), 9)
    os.unlink(sys.argv[1])' /etc/iproute2/rt_marks"""
UNTOLD = "libnftables: ended by signal 9"
