# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody holds the worker's agent by ptrace."""
LAYER = "agents"
WHEN = "worker.trusted.handshake"
DO = """agent=$(agent_of $WORKER)
systemd-run --quiet --unit=tracer -- /usr/bin/python3 -c '
import ctypes, os, sys
libc, agent = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
SEIZE, CONT = 0x4206, 7
if libc.ptrace(SEIZE, agent, None, None): raise SystemExit(1)
while True:
    status = os.waitpid(agent, 0)[1]
    if not os.WIFSTOPPED(status): break
    libc.ptrace(CONT, agent, None, ctypes.c_void_p(os.WSTOPSIG(status)))' $agent
await grep -q 'TracerPid:.[1-9]' /proc/$agent/status"""
REFUSED = "is traced by"
