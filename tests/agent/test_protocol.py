#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's protocol: order, limits, refusals, and clients that mean no good."""
import hashlib
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402
from client import Agent, netns, request, serve_once  # noqa: E402


class SessionTest(unittest.TestCase):
    def test_hello_tells_who_and_which_program(self):
        with Agent() as agent:
            answer = agent.ask("hello")
            with open(client.PROBE, "rb") as program:
                digest = hashlib.sha256(program.read()).hexdigest()
            self.assertEqual(answer, {
                "schema": "netproof.agent.v1", "op": "hello", "pid": agent.pid,
                "uid": os.getuid(), "gid": os.getgid(), "probe_runner_sha256": digest,
                "sandbox": {"no_new_privs": True, "seccomp": True, "landlock": True}})

    def test_exit_ends_with_status_0(self):
        answers, error, status = serve_once(request("hello") + request("exit") +
                                            request("hello"))
        self.assertEqual([a["op"] for a in answers], ["hello", "exit"])
        self.assertEqual((error, status), ("", 0))

    def test_connect_reaches_a_listener_and_nothing_else(self):
        with netns.Namespace() as space, Agent(space) as agent:
            with space.listen("127.0.0.1") as listener:
                port = listener.getsockname()[1]
                self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=port,
                                               timeout_ms=5000), ("connected", None))
            self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=port,
                                           timeout_ms=5000), ("refused", "ECONNREFUSED"))


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
