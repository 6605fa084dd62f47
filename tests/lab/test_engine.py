#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's engine is the real rootless one, and its containers reach the world."""
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from labtest import TOP, Lab, lab  # noqa: E402

SITE = os.path.join(TOP, "fixtures/sites/ditto-coding-hosted.json")
REACH = os.path.join(TOP, "build/tests/lab-reach")
# What SPEC 7.2 asks of a candidate.
CANDIDATE = ("--rm", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
             "--ipc", "none", "--pids-limit", "64", "--memory", "64m", "--tmpfs", "/tmp",
             "--user", "65532:65532")


class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("engine", "--engine", "--site", SITE)
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__)
        address, port = cls.lab.target("public")
        cls.public = (address, str(port))
        lab("image", "--name", cls.lab.name, "candidate:lab", REACH)

    def docker(self, *arguments, check=True):
        return lab("docker", "--name", self.lab.name, "--", *arguments, check=check)

    def run_candidate(self, network, *arguments):
        return self.docker("run", *CANDIDATE, "--network", network, "candidate:lab",
                           "/lab-reach", *arguments, check=False)

    def test_it_is_rootless_with_systemd_and_cgroup2(self):
        info = json.loads(self.docker("info", "--format", "{{json .}}").stdout)
        self.assertEqual((info["CgroupDriver"], info["CgroupVersion"]), ("systemd", "2"))
        self.assertIn("name=rootless", info["SecurityOptions"])
        self.assertEqual(info["Driver"], "overlay2")

    def test_its_socket_is_the_sites_and_private(self):
        self.assertEqual(self.lab.run(
            "stat", "-c", "%a %U", "/run/ditto-coding-hosted").stdout.strip(),
            "700 ditto-coding-hosted")
        self.assertEqual(self.lab.facts["engine_socket"], "/run/ditto-coding-hosted/docker.sock")

    def test_a_candidate_reaches_the_world_before_any_policy(self):
        self.lab.service("clear", "public")
        done = self.run_candidate("bridge", *self.public)
        self.assertEqual(done.stdout.split("\n")[:2], ["uid 65532", "connected"], done.stderr)
        seen = self.lab.service("read", "public")["connections"]
        self.assertEqual([c["bytes"] for c in seen], [len("candidate")])
        self.assertEqual(seen[0]["remote_address"], self.lab.facts["host_address"])

    def test_an_executor_has_no_network(self):
        self.assertIn("Network is unreachable", self.run_candidate(
            "none", *self.public).stdout)

    def test_the_hosts_loopback_is_not_behind_slirp(self):
        # The socket listens when the command returns: the control below is immediate.
        self.lab.run("systemd-run", "--unit=loopback", "--socket-property=ListenStream="
                     "127.0.0.1:8022", "/usr/bin/sleep", "1000")
        control = "import socket; socket.create_connection(('127.0.0.1', 8022), 10)"
        self.lab.run("/usr/bin/python3", "-c", control)
        self.assertNotIn("connected", self.run_candidate("bridge", "10.0.2.2", "8022").stdout)
        self.lab.run("/usr/bin/python3", "-c", control)

    def test_a_container_is_in_the_users_cgroups_under_a_subordinate_uid(self):
        self.docker("run", "-d", "--name", "waits", *CANDIDATE, "candidate:lab", "/lab-reach")
        pid = self.docker("inspect", "--format", "{{.State.Pid}}", "waits").stdout.strip()
        uid = self.lab.run("id", "-u", self.lab.facts["user"]).stdout.strip()
        cgroup = self.lab.run("cat", f"/proc/{pid}/cgroup").stdout
        self.assertIn(f"0::/user.slice/user-{uid}.slice/user@{uid}.service/", cgroup)
        owner = int(self.lab.run("stat", "-c", "%u", f"/proc/{pid}").stdout)
        self.assertGreaterEqual(owner, 100000)
        self.docker("kill", "waits")

    def test_limits_hold_or_the_lab_and_the_engine_say_that_they_do_not(self):
        info = json.loads(self.docker("info", "--format", "{{json .}}").stdout)
        limits = self.lab.facts["engine_limits"]
        self.assertEqual(info["MemoryLimit"], limits["memory"])
        self.assertEqual(info["PidsLimit"], limits["pids"])
        said = self.run_candidate("none", *self.public).stderr
        self.assertEqual("Limitation discarded" in said, not limits["memory"])
        self.assertEqual("PIDs limit discarded" in said, not limits["pids"])


if __name__ == "__main__":
    unittest.main()
