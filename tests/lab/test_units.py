#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The rendered units on a booted host: the deny guard holds the workload user from its
first moment, and the worker, driven by hand, does what SPEC 5 says."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from labtest import (HERE, LAB, TOP, Lab, lab, unique_name,  # noqa: E402
                     wait_without_traces)

SITE = os.path.join(TOP, "fixtures/sites/netproof.json")
REACH = os.path.join(TOP, "build/tests/lab-reach")
EARLY, GATE = os.path.join(HERE, "early.py"), os.path.join(HERE, "gate.py")
ON_HOST = "/etc/netproof/site.json"
# How the kernel answers who was rejected: TCP (v4, v6), and UDP at once.
REJECTED = {"EHOSTUNREACH", "EACCES", "EPERM", "ENETUNREACH"}
ASK_AGENT = """
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode())
lines = s.makefile()
for _ in sys.argv[2].strip().split("\\n"):
    print(lines.readline(), end="")
"""


def read_site(path=SITE):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


class Host(Lab):
    """A lab with the site installed, and what the tests ask of it."""

    def __init__(self, word, *options):
        super().__init__(word, "--install", "--site", SITE, *options)
        self.site = read_site()
        self.table = self.site["table"]

    def property(self, unit, name, *scope):
        return self.run("systemctl", *scope, "show", "--value", "-p", name, unit).stdout.strip()

    def listing(self):
        return self.run("nft", "-j", "list", "table", "inet", self.table).stdout

    def digest(self, listing=None):
        """The semantic digest of the table: equal ones enforce the same."""
        done = subprocess.run(
            [os.path.join(TOP, "build/bin/net-policy"), "digest", "--table", self.table],
            input=listing or self.listing(), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["nft_ruleset_semantic_sha256"]

    def issue(self, window, *names):
        """A fresh profile in its place, for the world's services named."""
        endpoints = {"schema": "netproof.endpoints.v1", "trusted_dns": [],
                     "trusted_loopback_tcp": False, "trusted_tcp": [
                         {"address": a, "port": p} for a, p in map(self.target, names)]}
        self.run("rm", "-f", self.site["profile"])
        self.run("sh", "-c", "printf %s \"$1\" >/etc/netproof/e.json", "sh", json.dumps(endpoints))
        done = self.run(f"{self.site['install_dir']}/net-policy", "issue", "--site", ON_HOST,
                        "--endpoints", "/etc/netproof/e.json", "--window", str(window),
                        "--out", self.site["profile"])
        return json.loads(done.stdout)["expires_at_unix"]

    def open_gate(self, name):
        """A gate.py that stands; communicate() gives its last line."""
        address, port = self.target(name)
        gate = subprocess.Popen(
            [LAB, "exec", "--name", self.name, "--", GATE, self.site["runtime_dir"],
             self.site["name"] + "-worker", self.table, address, str(port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert gate.stdout.readline() == "ready\n"
        return gate

    def ask_worker(self, *requests):
        text = "".join(json.dumps(r) + "\n" for r in requests)
        done = self.run("/usr/bin/python3", "-c", ASK_AGENT,
                        self.site["runtime_dir"] + "/agent/socket", text)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def connect_request(self, name):
        address, port = self.target(name)
        return {"op": "connect", "address": address, "port": port, "timeout_ms": 3000}

    def packets_to(self, *names):
        """What the wire saw on its way to these services."""
        wanted = [self.target(name) for name in names]
        return [p for p in self.service("packets") if (p["destination"], p["port"]) in wanted]


class GuardAtBoot(unittest.TestCase):
    """Programs of the workload user that start as early as systemd lets them."""

    NAMES = ("public", "ipv6", "metadata", "trusted-1")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        # The addresses are those of every lab, so they can be known before.
        with Host("targets") as first:
            targets = [f"tcp/{a}/{p}" for a, p in map(first.target, cls.NAMES)]
            targets.append("udp/{}/{}".format(*first.target("dns")))
        cls.targets = targets
        command = " ".join([EARLY, *targets])
        user = read_site()["workload_user"]
        wants = "[Unit]\nWants=early.service\n"
        options = []
        for place, text in (
                ("user/early.service", "[Unit]\nDefaultDependencies=no\nBefore=basic.target\n"
                 f"[Service]\nType=oneshot\nExecStart={command}\n"),
                ("user/basic.target.d/early.conf", wants),
                ("system/early.service",
                 f"[Service]\nType=oneshot\nUser={user}\nExecStart={command}\n"),
                ("system/multi-user.target.d/early.conf", wants)):
            path = os.path.join(folder.name, place.replace("/", "-"))
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            options += ["--file", f"{path}:/etc/systemd/{place}"]
        cls.host = Host("guard", "--engine", *options)
        cls.host.__enter__()
        cls.addClassCleanup(cls.host.__exit__)
        cls.uid = int(cls.host.run("id", "-u", user).stdout)

    def outcomes(self, *journal):
        """Of one early program: by target. It ran to its end."""
        self.host.run("systemctl", "start", f"user@{self.uid}.service")
        text = self.host.logs("-o", "cat", *journal)
        lines = [line.split() for line in text.splitlines() if line.startswith("uid=")]
        self.assertEqual({line[0] for line in lines}, {f"uid={self.uid}"}, text)
        found = {line[1]: line[2] for line in lines}
        self.assertEqual(set(found), set(self.targets))
        return found

    def test_1_nothing_came_through_and_the_world_was_there(self):
        for journal in (("_SYSTEMD_UNIT=early.service",), ("_SYSTEMD_USER_UNIT=early.service",)):
            for target, outcome in self.outcomes(*journal).items():
                self.assertIn(outcome, REJECTED, f"{journal} {target}")
        # The wire itself, from before the boot on.
        self.assertEqual(self.host.packets_to(*self.NAMES, "dns"), [])
        # Not because nothing could: the same program, without the policy's user.
        done = self.host.run(EARLY, *self.targets)
        self.assertEqual([line.split()[2] for line in done.stdout.splitlines()],
                         ["sent"] * len(self.targets))

    def test_2_the_guard_was_active_before_anything_of_the_user_ran(self):
        guard = int(self.host.property(self.host.site["guard_unit"],
                                       "ActiveEnterTimestampMonotonic"))
        self.assertGreater(guard, 0)
        for unit in (f"user@{self.uid}.service", "early.service"):
            started = int(self.host.property(unit, "ExecMainStartTimestampMonotonic"))
            self.assertGreater(started, guard, unit)
        requires = self.host.property(f"user@{self.uid}.service", "Requires")
        self.assertIn(self.host.site["guard_unit"], requires.split())

    def test_3_the_kernel_counted_what_it_rejected(self):
        counters = [e["counter"]["packets"] for o in json.loads(self.host.listing())["nftables"]
                    if "rule" in o for e in o["rule"]["expr"] if "counter" in e]
        self.assertGreaterEqual(sum(counters), 2 * len(self.targets))

    def test_4_a_candidate_is_held_as_well(self):
        lab("image", "--name", self.host.name, "candidate:lab", REACH)
        self.host.service("clear")
        address, port = self.host.target("public")
        done = lab("docker", "--name", self.host.name, "--", "run", "--rm", "candidate:lab",
                   "/lab-reach", address, str(port), check=False)
        self.assertIn("uid 0\n", done.stdout)
        self.assertNotIn("connected", done.stdout)
        self.assertEqual(self.host.packets_to("public"), [])

    def test_5_a_subordinate_uid_is_held_as_well(self):
        done = self.host.run("setpriv", "--reuid=200007", "--regid=200007", "--clear-groups",
                             EARLY, *self.targets)
        for line in done.stdout.splitlines():
            self.assertIn(line.split()[2], REJECTED, line)

    def test_6_it_holds_after_a_power_cut(self):
        lab("reboot", "--name", self.host.name)
        self.host.service("clear")
        self.test_2_the_guard_was_active_before_anything_of_the_user_ran()
        done = self.host.run(EARLY, *self.targets, user=self.host.site["workload_user"])
        for line in done.stdout.splitlines():
            self.assertIn(line.split()[2], REJECTED, line)
        self.assertEqual(self.host.packets_to(*self.NAMES, "dns"), [])


class GuardThatFails(unittest.TestCase):
    def test_the_user_has_no_manager_then(self):
        options = ("--file", f"/usr/bin/false:{read_site()['install_dir']}/net-policy:0755")
        with Host("broken", *options) as host:
            uid = host.run("id", "-u", host.site["workload_user"]).stdout.strip()
            self.assertEqual(host.property(host.site["guard_unit"], "ActiveState"), "failed")
            self.assertNotEqual(host.run("systemctl", "start", f"user@{uid}.service",
                                         check=False).returncode, 0)
            self.assertEqual(host.property(f"user@{uid}.service", "ActiveState"), "inactive")
            self.assertEqual(host.run("pgrep", "-u", uid, check=False).stdout, "")


class HostThatDoesNotBoot(unittest.TestCase):
    def test_the_message_names_what_hangs_and_nothing_is_left(self):
        name = unique_name("hangs")
        with tempfile.NamedTemporaryFile("w") as unit, tempfile.NamedTemporaryFile("w") as wants:
            unit.write("[Service]\nType=oneshot\nExecStart=/usr/bin/sleep 1000\n")
            wants.write("[Unit]\nWants=hangs.service\n")
            unit.flush()
            wants.flush()
            done = lab("up", "--name", name, "--boot-seconds", "5", "--install",
                       "--file", f"{unit.name}:/etc/systemd/system/hangs.service", "--file",
                       f"{wants.name}:/etc/systemd/system/multi-user.target.d/hangs.conf",
                       check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not boot in 5 s: it waits for", done.stderr)
        self.assertIn("hangs.service", done.stderr)
        self.assertEqual(wait_without_traces(name), [])


class Installed(unittest.TestCase):
    """The way net-site(8) tells, for the other shipped site and on a running host."""

    def check(self, host, site):
        for unit in (site["guard_unit"], site["proxy_unit"]):
            self.assertEqual(host.run("systemctl", "is-active", unit).stdout.strip(), "active")
        listing = host.run("nft", "list", "table", "inet", site["table"]).stdout
        self.assertIn("reject with icmpx admin-prohibited", listing)
        lab("engine", "--name", host.name)
        info = json.loads(lab("docker", "--name", host.name, "--", "info", "--format",
                              "{{json .}}").stdout)
        self.assertEqual(info["DockerRootDir"], f"/var/lib/{site['name']}/docker")
        self.assertEqual(info["CgroupDriver"], "systemd")
        uid = host.run("id", "-u", site["workload_user"]).stdout.strip()
        self.assertEqual(host.run("stat", "-c", "%a %u", os.path.dirname(
            site["engine"]["socket"])).stdout.strip(), f"700 {uid}")
        self.assertEqual(host.run("systemctl", "is-system-running").stdout.strip(), "running")

    def test_the_other_site_before_the_boot(self):
        path = os.path.join(TOP, "fixtures/sites/ditto-coding-hosted.json")
        with Lab("ditto", "--install", "--site", path) as host:
            self.check(host, read_site(path))

    def test_on_a_running_host_twice(self):
        with Lab("running") as host:
            for _ in range(2):
                lab("install", "--name", host.name, "--site", SITE)
                self.check(host, read_site())


class WorkerByHand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host("worker", "--endpoints", "2")
        cls.host.__enter__()
        cls.addClassCleanup(cls.host.__exit__)
        cls.guard = cls.host.digest()
        cls.worker = cls.host.site["worker_unit"]

    def setUp(self):
        self.host.service("clear")

    def assert_only_guard(self, listing=None):
        self.assertEqual(self.host.digest(listing), self.guard)

    def assert_end(self, gate):
        """What the net-once of a worker's end found."""
        said = json.loads(gate.communicate()[0])
        uid = int(self.host.run("id", "-u", self.host.site["workload_user"]).stdout)
        self.assertEqual(gate.returncode, 0)
        self.assertEqual(said["cgroup"], f"/system.slice/{self.worker}")
        self.assertEqual(said["uid"], uid)
        self.assertEqual([r["outcome"] for r in said["report"]["responses"]], ["unreachable"])
        # The guard was back before net-once acted, not only afterwards.
        self.assert_only_guard(json.dumps(said["rules"]))
        self.assertEqual(self.host.packets_to("trusted-1"), [])

    def test_start_and_stop(self):
        self.host.issue(60, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        self.assertEqual(self.host.property(self.worker, "ActiveState"), "active")
        self.assertNotEqual(self.host.digest(), self.guard)
        names = ("trusted-1", "trusted-2", "public")
        answers = self.host.ask_worker(*map(self.host.connect_request, names))
        self.assertEqual([a.get("outcome") for a in answers],
                         ["connected", "unreachable", "unreachable"])
        seen = self.host.service("read", "trusted-1")
        self.assertEqual((seen["accepted"], seen["connections"][0]["bytes"]), (1, 0))
        self.assertEqual(self.host.packets_to("trusted-2", "public"), [])
        self.host.run("systemctl", "stop", self.worker)
        self.assert_only_guard()

    def test_only_the_workers_cgroup_may(self):
        self.host.issue(60, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        done = self.host.talk("trusted-1", user=self.host.site["workload_user"], check=False)
        self.assertIn("No route to host", done.stderr)
        self.assertEqual(self.host.packets_to("trusted-1"), [])
        self.host.run("systemctl", "stop", self.worker)
        self.assert_only_guard()

    def test_stop_makes_the_plans_attempts_behind_the_guard(self):
        self.host.issue(60, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        gate = self.host.open_gate("trusted-1")
        self.host.run("systemctl", "stop", self.worker)
        self.assert_end(gate)
        self.assertEqual(self.host.property(self.worker, "ActiveState"), "inactive")
        self.assertEqual(self.host.property(self.worker, "Result"), "success")
        self.assert_only_guard()
        self.assertEqual(self.host.run("ls", self.host.site["runtime_dir"]).stdout, "")

    def test_failed_start(self):
        expiry = self.host.issue(1, "trusted-1")
        # The wall clock is what decides here.
        while time.time() <= expiry:
            time.sleep(max(expiry - time.time(), 0) + 0.05)
        gate = self.host.open_gate("trusted-1")
        self.assertNotEqual(self.host.run("systemctl", "start", self.worker,
                                          check=False).returncode, 0)
        self.assert_end(gate)
        self.assertEqual(self.host.property(self.worker, "ActiveState"), "failed")
        self.assertEqual(self.host.property(self.worker, "Result"), "exit-code")
        self.host.run("systemctl", "reset-failed", self.worker)
        self.assert_only_guard()

    def test_without_a_profile_no_start(self):
        self.host.run("rm", "-f", self.host.site["profile"])
        self.assertNotEqual(self.host.run("systemctl", "start", self.worker,
                                          check=False).returncode, 0)
        self.assertEqual(self.host.property(self.worker, "Result"), "exit-code")
        self.host.run("systemctl", "reset-failed", self.worker)
        self.assert_only_guard()

    def test_a_killed_worker_closes_the_window(self):
        self.host.issue(60, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        gate = self.host.open_gate("trusted-1")
        self.host.run("systemctl", "kill", "--signal=KILL", self.worker)
        self.assert_end(gate)
        self.host.run("systemctl", "stop", self.worker)
        self.host.run("systemctl", "reset-failed", self.worker, check=False)
        self.assert_only_guard()

    def test_stopping_the_guard_ends_the_user_and_keeps_the_rules(self):
        self.host.issue(60, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        self.host.run("systemctl", "stop", self.host.site["guard_unit"])
        self.assertEqual(self.host.property(self.worker, "ActiveState"), "inactive")
        self.assertEqual(self.host.run("pgrep", "-u", self.host.site["workload_user"],
                                       check=False).stdout, "")
        self.assert_only_guard()
        self.host.run("systemctl", "start", self.host.site["guard_unit"])

    def restart_guard(self):
        """And what it takes along: systemctl waits for the guard's own job alone."""
        self.host.run("systemctl", "restart", self.host.site["guard_unit"])
        self.host.run("sh", "-c", "until [ -z \"$(systemctl list-jobs --no-legend)\" ]; "
                      "do sleep 0.05; done")

    def test_a_restart_of_the_guard_opens_the_same_window_and_no_longer_one(self):
        expiry = self.host.issue(60, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        opened, first = self.host.digest(), self.host.property(self.worker, "InvocationID")
        self.restart_guard()
        self.assertEqual(self.host.property(self.worker, "ActiveState"), "active")
        self.assertNotEqual(self.host.property(self.worker, "InvocationID"), first)
        self.assertEqual(self.host.digest(), opened)
        ends = [time.time() + e["elem"]["expires"]
                for o in json.loads(self.host.listing())["nftables"] if "set" in o
                for e in o["set"].get("elem", ())
                if isinstance(e, dict) and "expires" in e.get("elem", {})]
        self.assertGreater(len(ends), 0)
        self.assertLessEqual(max(ends), expiry + 2)
        self.host.run("systemctl", "stop", self.worker)
        self.assert_only_guard()

    def test_a_restart_of_the_guard_after_the_window_opens_none(self):
        expiry = self.host.issue(3, "trusted-1")
        self.host.run("systemctl", "start", self.worker)
        # The wall clock is what decides here.
        while time.time() <= expiry:
            time.sleep(max(expiry - time.time(), 0) + 0.05)
        self.restart_guard()
        self.assertEqual(self.host.property(self.worker, "ActiveState"), "failed")
        self.assert_only_guard()
        self.host.run("systemctl", "reset-failed", self.worker)


if __name__ == "__main__":
    unittest.main()
