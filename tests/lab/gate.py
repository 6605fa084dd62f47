#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In a lab, as root, what the collector does at a worker's end: puts a plan and a gate
into the runtime folder, lets the net-once that comes begin, reads its report while it
still runs, looks at the kernel's rules meanwhile, and lets it end.

  gate.py RUNTIME_DIR GROUP TABLE ADDRESS PORT [TIMEOUT_MS]

Says "ready" once the gate stands, then one JSON object.
"""
import grp
import json
import os
import signal
import subprocess
import sys
import time

REPORT_SECONDS = 60
# Whatever does not come: longer than any worker takes to end.
GIVE_UP_SECONDS = 120


def put(path, group, data):
    with open(path, "w", encoding="ascii") as out:
        out.write(data)
    os.chmod(path, 0o640)
    os.chown(path, 0, group)


def read_report(path):
    """It is written while the process waits; whole when it parses."""
    deadline = time.monotonic() + REPORT_SECONDS
    while True:
        try:
            with open(path, encoding="ascii") as text:
                return json.load(text)
        except (FileNotFoundError, ValueError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def main():
    folder, group, table, address, port, *timeout = sys.argv[1:]
    plan, gate = f"{folder}/plan.json", f"{folder}/gate"
    gid = grp.getgrnam(group).gr_gid
    request = {"op": "connect", "address": address, "port": int(port),
               "timeout_ms": int(timeout[0]) if timeout else 3000}
    signal.alarm(GIVE_UP_SECONDS)
    os.mkfifo(gate)
    try:
        os.chmod(gate, 0o640)
        os.chown(gate, 0, gid)
        put(plan, gid, json.dumps({"schema": "netproof.plan.v1", "requests": [request]}))
        print("ready", flush=True)
        with open(gate, "wb", buffering=0) as opened:
            opened.write(b"1")
            report = read_report(f"{folder}/agent/report.json")
            pid = report["pid"]
            with open(f"/proc/{pid}/cgroup", encoding="ascii") as lines:
                cgroup = next(l[3:].strip() for l in lines if l.startswith("0::"))
            rules = subprocess.run(["/usr/sbin/nft", "-j", "list", "table", "inet", table],
                                   check=True, capture_output=True).stdout
            opened.write(b"1")
    finally:
        for path in (plan, gate):
            if os.path.exists(path):
                os.unlink(path)
    print(json.dumps({"report": report, "cgroup": cgroup, "uid": report["uid"],
                      "rules": json.loads(rules)}))


if __name__ == "__main__":
    main()
