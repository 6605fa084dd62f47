#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What another process of the workload user can do to the agents' answers: nothing unseen.

The kernel denies every attempt on the agents of the units, and the collection goes on; of
what it does not deny, each ends in a refusal. Root could do more, and is trusted.
"""
import json
import os
import unittest

import collectlib
from moments import Row, Rows, check_side_by_side, sh

FORGE = os.path.join(collectlib.TOP, "tests/collector/forge.py")
DENIED = {"EPERM", "EACCES"}
# {0}: who; {1}: the rest. Goes on beside the collection until the row is mended.
HOLD = """
rm -f /run/forged
systemd-run --quiet --unit=forger --collect --property=User={0} \\
    --property=StandardOutput=file:/run/forged /usr/bin/python3 {1}
until [ -s /run/forged ]; do
    systemctl is-active --quiet forger.service || exit 1
    sleep 0.02
done
"""
# Whether its manager sees an agent end before or after it counts as started is chance;
# with this, it is before.
NEVER_STARTED = """
mkdir -p /etc/systemd/user/{0}-daemon-agent-.service.d
printf '[Service]\\nExecStartPre=/bin/false\\n' \\
    >/etc/systemd/user/{0}-daemon-agent-.service.d/never.conf
"""
LET_GO = "systemctl stop forger.service 2>/dev/null || :\nrm -f /run/forged\n"


def hold(who, words):
    return sh(HOLD.replace("{0}", who).replace("{1}", f"{FORGE} {words}"))


def attempt(*marks):
    """Every attempt on the agents with these marks, as the workload user."""
    def act(run):
        site = run.host.site
        for mark in marks:
            done = run.host.run("/usr/bin/python3", FORGE, mark, site["runtime_dir"],
                                user=site["workload_user"])
            result = json.loads(done.stdout)
            if len(result) < 15 or set(result.values()) - DENIED:
                raise AssertionError(f"not denied on {mark}: {result}")
            print(f"denied on {mark}: {sorted(set(result.values()))}", flush=True)
    return act


def connect_first(run):
    """The socket of the daemon agent is its user's to connect to, and gets nobody else an
    answer; the collector comes after."""
    done = run.host.run("/usr/bin/python3", "-c", """
import glob, socket
with socket.socket(socket.AF_UNIX) as s:
    s.connect(glob.glob("/run/*-daemon-agent-*/daemon.sock")[0])
    s.settimeout(30)
    try:
        s.sendall(b'{"op":"hello"}\\\\n')
        print(s.recv(100))
    except (ConnectionResetError, BrokenPipeError):
        print(b"")
""".replace("\\\\n", "\\n"), user=run.host.site["workload_user"])
    if done.stdout.strip() != "b''":
        raise AssertionError(f"the agent answered its own user: {done.stdout}")


def check_whole(run):
    result = json.loads(run.stdout)
    if [result["record_sha256"]] != run.records() or result["good"] != result["probes"]:
        raise AssertionError(f"not as ever: {run.stdout}")


READY = "active: executor agent measured"
AT_GATE = "stop_rollback: net-once measured"


def rows():
    name = collectlib.make_site("rootless-netns")["name"]
    take = f"none none take $(echo /run/{name}-daemon-agent-*)/daemon.sock"
    return [
        Row("all that the kernel denies",
            {"active: daemon agent started": connect_first,
             READY: attempt("/agent/socket", "/daemon.sock"), AT_GATE: attempt("/gate")},
            status=0, also=check_whole, window=25),
        Row("a traced candidate", {READY: hold("{user}", "/agent/agent.sock {run} trace")},
            "candidate: process ", "is traced by process", mend=LET_GO),
        Row("a worker's agent that root traces", {READY: hold("root", "/agent/socket {run} trace")},
            "worker: process ", "is traced by process", mend=LET_GO),
        Row("a net-once that root traces", {AT_GATE: hold("root", "/gate {run} trace")},
            "net-once", "is traced by process", mend=LET_GO),
        Row("the daemon agent's socket, taken first", {"active: daemon agent's folder made":
            hold("{user}", take)},
            "daemon agent: ", mend=LET_GO),
        Row("the daemon agent, kept from starting", {"active: daemon agent's folder made":
            sh(NEVER_STARTED.replace("{0}", name))},
            "daemon agent: /usr/bin/systemd-run: Job for ", "journalctl --user",
            mend=f"rm -r /etc/systemd/user/{name}-daemon-agent-.service.d"),
        Row("the daemon agent's socket, replaced", {"active: daemon agent started":
            hold("{user}", take)},
            "daemon agent: ", "its socket is answered by process", mend=LET_GO),
        Row("the plan, rewritten by root", {"stop_rollback: stopping the worker": sh(
            """sed -i 's/\\[\\(.*\\)\\]/[\\1,\\1]/' {run}/plan.json""")},
            "net-once: reports 2 answers, not 1"),
        Row("the report, rewritten by root", {AT_GATE: sh(
            "head -c 5000 /dev/zero | tr '\\0' x >{run}/agent/report.json")},
            "report: "),
        Row("the gate, opened by another", {"stop_rollback: stopping the worker": sh(
            "systemd-run --quiet --unit=forger --collect /bin/sh -c "
            "'exec 3<>{run}/gate; echo open >/run/forged; exec sleep 600'\n"
            "until [ -s /run/forged ]; do sleep 0.02; done")},
            "net-once", mend=LET_GO),
    ]


class Forgery(unittest.TestCase):
    def test_no_answer_can_be_forged(self):
        all_rows = rows()
        check_side_by_side(self, [Rows(f"forge{i}", all_rows[i::3]) for i in range(3)])


if __name__ == "__main__":
    unittest.main()
