#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents that are not the reviewed program, or that do not say the truth.

A file that is replaced just before its position starts; and a probe runner that a release
names and that is confined as it must be, but lies in one answer.
"""
import unittest

from moments import Row, TAMPER, UNTAMPER, check_side_by_side, sh, shared_out

# The control agent is executed from a descriptor: its file itself is written to.
WRITTEN = "cp -p {lib}/net-probe /run/kept; printf x >>{lib}/net-probe"
NOT_REVIEWED = "runs a program with digest"


def tampered(name, at, place, script=TAMPER, **more):
    return Row(f"another program as {name}", {at: sh(script)}, place, NOT_REVIEWED,
               "not the probe runner", mend=UNTAMPER, **more)


TAMPERED = [
    tampered("control", "active: begin", "control agent: ", WRITTEN),
    tampered("worker", "active: control agent measured", "worker agent: "),
    tampered("daemon", "active: daemon agent's folder made", "daemon agent: "),
    # Before the subordinate one starts, which nothing at the file's place can be.
    tampered("candidate", "active: daemon agent measured", "candidate agent: "),
    tampered("sibling", "active: candidate container started", "sibling agent: "),
    tampered("executor", "active: sibling container started", "executor agent: "),
    tampered("net-once after the stop", "stop_rollback: stopping the worker", "net-once: "),
    tampered("net-once after the failed start",
             "failed_start: starting the worker on the expired profile", "net-once: ", window=25),
]

# The last argument of each position's agent, and its uid. The subordinate one is executed from
# the same descriptor as the control agent: no other file can be, but this one can lie there.
CALLED = {"control": "net-agent@0", "worker": "*/agent/socket@*", "daemon": "*/daemon.sock@*",
          "daemon_subordinate": "net-agent@[1-9]*", "candidate": "/agent/agent.sock@*",
          "net-once": "*/gate@*"}
DIGEST, PID, UID, GID = ('"probe_runner_sha256":', '"pid":', '"uid":', '"gid":')


def lying(position, request, kind, *words):
    return Row(f"{position} agent, {request}: {kind}", {}, position, *words,
               lie=f"{CALLED[position]} {request} {kind}")


LYING = [
    lying("control", "hello", DIGEST, "control agent: says its digest is"),
    lying("worker", "hello", DIGEST, "worker agent: says its digest is"),
    lying("worker", "hello", PID, "worker agent: says its pid is"),
    lying("worker", "hello", UID, "worker agent: says its uid is"),
    lying("worker", "hello", GID, "worker agent: says its gid is"),
    lying("worker", "hello", "unconfined", "worker agent: says it is not confined"),
    lying("daemon", "hello", PID, "daemon agent: says its pid is"),
    lying("daemon", "hello", UID, "daemon agent: says its uid is"),
    lying("daemon_subordinate", "hello", DIGEST, "daemon_subordinate agent: says its digest is"),
    lying("daemon_subordinate", "hello", PID, "daemon_subordinate agent: says its pid is"),
    lying("daemon_subordinate", "hello", UID, "daemon_subordinate agent: says its uid is"),
    lying("candidate", "hello", DIGEST, "candidate agent: says its digest is"),
    lying("candidate", "hello", PID, "candidate agent: says its pid is"),
    lying("candidate", "hello", UID, "candidate agent: says its uid is"),
    lying("net-once", "report", DIGEST, "net-once: says of itself"),
    lying("net-once", "report", PID, "net-once: says of itself"),
    lying("net-once", "report", UID, "net-once: says of itself"),
    lying("worker", "hello", "hang", "worker agent: gave no answer in time"),
    lying("daemon", "hello", "hang", "daemon agent: gave no answer in time"),
    lying("daemon", "hello", "flood", "daemon agent: a line of more than 4096 bytes"),
    lying("worker", "hello", "garbage", "worker agent: answer"),
    lying("daemon", "hello", "order", "daemon agent: answered dns, not hello: out of order"),
    lying("control", "hello", "die", "control agent: ended in the middle of its phase"),
    lying("candidate", "connect", "hang", "candidate agent: gave no answer in time"),
    lying("candidate", "connect", "flood", "candidate agent: a line of more than 4096 bytes"),
    lying("candidate", "proxy_forward", "garbage", "candidate agent: answer"),
    lying("candidate", "dns", "order", "candidate agent: answered exit, not dns: out of order"),
    lying("candidate", "connect", "twice", "candidate agent: answer"),
    lying("worker", "handshake", "die", "worker agent: ended in the middle of its phase"),
    lying("worker", "connect", "outcome", "worker agent: connect cannot end as accepted"),
]


class Tampered(unittest.TestCase):
    def test_no_answer_but_the_reviewed_program_s_own(self):
        # The one that takes longest first.
        rows = TAMPERED[::-1] + LYING
        check_side_by_side(self, shared_out("tampered", rows, 4))


if __name__ == "__main__":
    unittest.main()
