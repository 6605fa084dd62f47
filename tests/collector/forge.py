#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In a lab, as the workload user: every way to reach into an agent, and how each ended.

  forge.py MARK FOLDER

MARK ends a word of the agent's command line; FOLDER is the worker's runtime folder. Prints one
JSON object: attempt to errno's name, or "done". With a third word it holds on to what
worked until it is ended: "trace", or "take PATH" (a socket in place of what is there).
"""
import ctypes
import errno
import json
import os
import signal
import socket
import sys

PTRACE_CONT, PTRACE_ATTACH, PTRACE_SEIZE = 7, 16, 0x4206
WALL = 0x40000000  # __WALL
libc = ctypes.CDLL(None, use_errno=True)


def find(mark):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as text:
                words = text.read().split(b"\0")
        except OSError:
            continue
        # Not what starts one: it has the same words behind its own.
        if words[0].endswith(b"/net-probe") and any(w.endswith(mark.encode()) for w in words):
            return int(pid)
    raise SystemExit(f"no agent with {mark}")


def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def write_memory(pid):
    class Part(ctypes.Structure):  # struct iovec
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    here = ctypes.create_string_buffer(8)
    local = Part(ctypes.addressof(here), 8)
    remote = Part(0x1000, 8)
    if libc.process_vm_writev(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_writev")


def attempts(pid, folder):
    open_for = os.O_RDWR | os.O_NONBLOCK
    yield "ptrace", lambda: ptrace(PTRACE_ATTACH, pid)
    yield "seize", lambda: ptrace(PTRACE_SEIZE, pid)
    yield "mem", lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
    yield "process_vm_writev", lambda: write_memory(pid)
    yield "fd", lambda: os.listdir(f"/proc/{pid}/fd")
    # With the slash: what it leads to, not the link itself.
    yield "root", lambda: os.listdir(f"/proc/{pid}/root" + "/")
    yield "cwd", lambda: os.listdir(f"/proc/{pid}/cwd" + "/")
    for name in ("plan.json", "gate", "agent/report.json", "agent/socket"):
        yield name, lambda name=name: os.close(os.open(f"{folder}/{name}", open_for))
        yield f"unlink {name}", lambda name=name: os.unlink(f"{folder}/{name}")


def follow(pid):
    """Lets it go on at each stop, until it ends: a tracer that does not look would keep
    its remains."""
    while True:
        _, status = os.waitpid(pid, WALL)
        if not os.WIFSTOPPED(status):
            return
        number = 0 if status >> 16 else os.WSTOPSIG(status)
        ptrace(PTRACE_CONT, pid, number)


def tell(result):
    print(json.dumps(result), flush=True)


def main():
    mark, folder, *more = sys.argv[1:]
    if more and more[0] == "take":
        if os.path.lexists(more[1]):
            os.unlink(more[1])
        with socket.socket(socket.AF_UNIX) as taken:
            taken.bind(more[1])
            os.chmod(more[1], 0o600)
            taken.listen(16)
            tell("taken")
            signal.pause()
    pid = find(mark)
    if more and more[0] == "trace":
        ptrace(PTRACE_SEIZE, pid)
        tell("tracing")
        follow(pid)
        return
    result = {}
    for name, attempt in attempts(pid, folder):
        try:
            attempt()
            result[name] = "done"
        except OSError as error:
            result[name] = errno.errorcode[error.errno]
    tell(result)


if __name__ == "__main__":
    main()
