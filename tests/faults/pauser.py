#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the processor from a collection again and again, in whatever call it is:

  pauser.py STOPPED_MS RUNNING_MS

Its processes, their children and the agents are stopped and continued: every wait is
interrupted, and what they do takes longer by as much.
"""
import contextlib
import os
import signal
import sys
import time

PROGRAMS = ("net-collector", "net-probe")


def runs_one(pid):
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) in PROGRAMS
    return False


def children(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
            return text.read().split()
    return []


def collection():
    """By number: children come and go, and those of the collector's are no agents yet."""
    found = {pid for pid in os.listdir("/proc") if pid.isdigit() and runs_one(pid)}
    for pid in list(found):
        found.update(children(pid))
    return found


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), number)


def main(stopped_ms, running_ms):
    while True:
        pids = collection()
        try:
            send(pids, signal.SIGSTOP)
            time.sleep(stopped_ms / 1000)
        finally:
            send(pids, signal.SIGCONT)
        time.sleep(running_ms / 1000)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
