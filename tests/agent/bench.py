#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's figures, each beside the least the same work can cost."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402
from client import Agent, netns  # noqa: E402

TESTS = os.path.join(client.BUILD, "tests")
MEASURE = os.path.join(TESTS, "measure")
EMPTY = os.path.join(TESTS, "empty")
CONNECTS = 5000


def stripped_size():
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["strip", "-o", file.name, client.PROBE], check=True)
        return os.path.getsize(file.name)


def idle_peak_kib():
    with Agent() as agent:
        agent.ask("hello")
        with open(f"/proc/{agent.pid}/status") as status:
            return next(int(line.split()[1]) for line in status
                        if line.startswith("VmHWM:"))


def denials_seconds():
    with netns.Namespace() as space:
        space.nft("table inet t { chain c { type filter hook output priority 0; "
                  "tcp dport 9 drop; }; }")
        with Agent(space) as agent:
            agent.ask("hello")
            requests = [dict(op="connect", address=f"127.0.0.{n + 1}", port=9,
                             timeout_ms=1000) for n in range(64)]
            begun = time.monotonic()
            answers = agent.ask_all(requests)
            took = time.monotonic() - begun
    if {a["outcome"] for a in answers} != {"timeout"}:
        sys.exit(f"bench: not all timed out: {answers}")
    return took


def main():
    netns.exit_on_signals()
    empty_us, hello_us = map(float, subprocess.run(
        [MEASURE, "start", client.PROBE, EMPTY], check=True,
        stdout=subprocess.PIPE).stdout.split())
    with netns.Namespace() as space:
        space.sysctl("net/core/somaxconn", 65535)
        space.sysctl("net/ipv4/tcp_max_syn_backlog", 65535)
        # 7 turns of 3 times 5000 connections, each port in TIME_WAIT for a minute;
        # each turn's listener has its own port, so 5000 of them are enough.
        space.sysctl("net/ipv4/ip_local_port_range", "10000 65535")
        bare, none_open, handles_open = map(float, space.run(
            [MEASURE, "connect", client.PROBE, "127.0.0.1", str(CONNECTS)],
            timeout=300).stdout.split())
    print(json.dumps({
        "agent_stripped_bytes": stripped_size(),
        "agent_idle_peak_kib": idle_peak_kib(),
        "agent_empty_exec_us": empty_us,
        "agent_hello_us": hello_us,
        "agent_hello_to_empty_exec": round(hello_us / empty_us, 2),
        "agent_64_denials_of_1_s_seconds": round(denials_seconds(), 3),
        "agent_bare_connects_per_second": bare,
        "agent_connects_per_second": none_open,
        "agent_connects_with_64_handles_per_second": handles_open,
        "agent_connects_to_bare": round(none_open / bare, 3),
        "agent_connects_with_handles_to_none": round(handles_open / none_open, 3),
    }))


if __name__ == "__main__":
    main()
