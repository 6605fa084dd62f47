#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab itself: it boots, keeps to itself, and leaves nothing."""
import json
import os
import select
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from labtest import (HERE, LAB, TALK, Lab, lab, namespaces_of, traces, unique_name,  # noqa
                     wait_without_traces)

# Every step of `lab up`, in order.
STEPS = ("folder", "cgroups", "world", "tree", "wire", "booting", "booted", "up", "written")


def interfaces():
    return sorted(os.listdir("/sys/class/net"))


class Boots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("boots", "--endpoints", "32")
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__)

    def test_systemd_runs_and_nothing_has_failed(self):
        self.assertEqual(self.lab.run("systemctl", "is-system-running").stdout.strip(), "running")
        self.assertEqual(self.lab.run("cat", "/proc/1/comm").stdout.strip(), "systemd")

    def test_the_workload_user_has_a_manager_and_ranges(self):
        self.assertIn("active", self.lab.run(
            "systemctl", "--user", "is-active", "basic.target", user="workload").stdout)
        self.assertIn("workload:", self.lab.run("cat", "/etc/subuid").stdout)

    def test_identity_is_its_own(self):
        with open("/etc/machine-id", encoding="ascii") as machine:
            self.assertNotEqual(self.lab.facts["machine_id"], machine.read().strip())
        self.assertEqual(self.lab.run("cat", "/etc/machine-id").stdout.strip(),
                         self.lab.facts["machine_id"])
        self.assertEqual(self.lab.run("cat", "/proc/sys/kernel/random/boot_id").stdout.strip(),
                         self.lab.facts["boot_id"])

    def test_the_world_is_reached_and_records_every_byte(self):
        names = [s["name"] for s in self.lab.facts["services"] if s["kind"] == "tcp"]
        self.assertEqual(sum(n.startswith("trusted-") for n in names), 32)
        self.lab.service("clear")
        self.lab.talk(*names)
        for name in names:
            seen = self.lab.service("read", name)["connections"]
            self.assertEqual(len(seen), 1, name)
            self.assertEqual(seen[0]["bytes"], len(f"from lab-{self.lab.name}"))

    def test_dns_logs_its_questions(self):
        self.lab.service("clear", "dns")
        self.lab.run("getent", "ahostsv4", "question.example")
        self.assertIn(("udp", "question.example", 1),
                      [(q["transport"], q["name"], q["type"])
                       for q in self.lab.service("read", "dns")["questions"]])

    def test_a_stopped_service_refuses_and_a_started_one_answers(self):
        self.assertFalse(self.lab.service("stop", "trusted-7")["running"])
        self.assertIn("ConnectionRefused", 
                      self.lab.talk("trusted-7", check=False).stderr)
        self.assertTrue(self.lab.service("start", "trusted-7")["running"])
        self.lab.talk("trusted-7")

    def test_the_machine_cannot_be_touched(self):
        for path in ("/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/sys/power/state",
                     "/proc/sys/vm/swappiness"):
            done = self.lab.run("sh", "-c", f"[ ! -e {path} ] || echo 0 >{path}", check=False)
            if os.path.exists(path):
                self.assertIn("Read-only file system", done.stderr, path)
        self.assertNotIn("vda", self.lab.run("ls", "/dev").stdout)
        done = self.lab.run("date", "-s", "@1", check=False)
        self.assertIn("Operation not permitted", done.stderr)
        disk = self.lab.run("mknod", "/dev/disk", "b", "254", "0", check=False)
        self.assertIn("Operation not permitted", disk.stderr)
        for kind in ("net", "pid", "mnt", "cgroup", "ipc", "uts"):
            self.assertNotEqual(self.lab.run("readlink", f"/proc/1/ns/{kind}").stdout.strip(),
                                os.readlink(f"/proc/self/ns/{kind}"))

    def test_its_cgroups_begin_at_its_own(self):
        self.assertEqual(self.lab.run("stat", "-fc", "%T", "/sys/fs/cgroup").stdout.strip(),
                         "cgroup2fs")
        self.assertNotIn("netproof-lab", self.lab.run("cat", "/proc/1/cgroup").stdout)
        done = self.lab.run("ls", "/sys/fs/cgroup").stdout.split()
        self.assertIn("system.slice", done)
        self.assertNotIn("world", done)

    def test_exit_statuses_pass_through(self):
        self.assertEqual(self.lab.run("sh", "-c", "exit 7", check=False).returncode, 7)
        self.assertEqual(self.lab.run("/no/such", check=False).returncode, 127)
        self.assertEqual(self.lab.run("sh", "-c", "kill -9 $$", check=False).returncode, 137)

    def test_a_killed_exec_takes_its_command_along(self):
        with subprocess.Popen([LAB, "exec", "--name", self.lab.name, "--", "sh", "-c",
                               "echo $$; exec sleep 1000"], stdout=subprocess.PIPE,
                              text=True) as running:
            pid = running.stdout.readline().strip()
            running.kill()
        self.lab.run("timeout", "20", "tail", f"--pid={pid}", "-f", "/dev/null")


class LeavesNothing(unittest.TestCase):
    def test_down_leaves_nothing(self):
        before = interfaces()
        with Lab("down") as one:
            held = namespaces_of([one.facts["host_pid"], one.facts["world_pid"]])
            self.assertGreaterEqual(len(held), 10)
            self.assertTrue(traces(one.name, held))
            self.assertEqual(interfaces(), before)
        self.assertEqual(wait_without_traces(one.name, held), [])
        self.assertEqual(interfaces(), before)
        self.assertEqual(lab("down", "--name", one.name, check=False).returncode, 1)

    def test_a_lab_killed_at_any_step_is_cleaned_by_down(self):
        for step in STEPS:
            with self.subTest(step=step):
                name = unique_name("killed")
                self._kill_at(step, name)
                lab("down", "--name", name)
                self.assertEqual(wait_without_traces(name), [])

    def _kill_at(self, step, name):
        starting = subprocess.Popen([LAB, "up", "--name", name], stdout=subprocess.DEVNULL,
                                    env={**os.environ, "LAB_HALT_AFTER": step})
        try:
            _, status = os.waitpid(starting.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status), f"never came to {step}")
            self.assertTrue(traces(name))
        finally:
            starting.kill()
            starting.wait()
        self.assertTrue(traces(name))

    def test_a_lab_told_to_stop_while_starting_cleans_up_itself(self):
        name = unique_name("told")
        starting = subprocess.Popen([LAB, "up", "--name", name], stdout=subprocess.DEVNULL,
                                    env={**os.environ, "LAB_HALT_AFTER": "booting"})
        os.waitpid(starting.pid, os.WUNTRACED)
        starting.send_signal(signal.SIGTERM)
        starting.send_signal(signal.SIGCONT)
        self.assertEqual(starting.wait(), 143)
        self.assertEqual(wait_without_traces(name), [])


CASE = """
import os, signal, sys, unittest
sys.path.insert(0, sys.argv.pop())
from labtest import Lab
class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("case")
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__)
    def test_1(self):
        with Lab("second") as second:
            print(self.lab.name, second.name, flush=True)
            signal.pause()
    def test_2(self):
        os._exit(0)
unittest.main()
"""


class EndsWithItsTest(unittest.TestCase):
    def test_a_test_told_to_stop_leaves_no_lab(self):
        with subprocess.Popen(["/usr/bin/python3", "-c", CASE, HERE], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as case:
            names = case.stdout.readline().split()
            self.assertEqual(len(names), 2)
            case.terminate()
        self.assertNotEqual(case.returncode, 0)
        for name in names:
            self.assertEqual(wait_without_traces(name), [])


class SideBySide(unittest.TestCase):
    def test_two_labs_do_not_see_each_other(self):
        with Lab("one") as one, Lab("two") as two:
            for key in ("machine_id", "boot_id"):
                self.assertNotEqual(one.facts[key], two.facts[key])
            one.talk("trusted-1")
            self.assertEqual(one.service("read", "trusted-1")["accepted"], 1)
            self.assertEqual(two.service("read", "trusted-1")["accepted"], 0)
            self.assertEqual([p for p in two.service("packets") if p["port"] == 443], [])
            one.run("systemd-run", "--unit", "only-in-one", "sleep", "1000")
            self.assertEqual(two.run("systemctl", "is-active", "only-in-one",
                                     check=False).stdout.strip(), "inactive")
            self.assertNotIn("sleep 1000", two.run("ps", "-e", "-o", "args").stdout)
            one.run("touch", "/etc/only-in-one")
            self.assertNotEqual(two.run("test", "-e", "/etc/only-in-one",
                                        check=False).returncode, 0)
            self.assertFalse(os.path.exists("/etc/only-in-one"))
            names = lab("list").stdout.split()
            self.assertIn(one.name, names)
            self.assertIn(two.name, names)
            lab("down", "--name", one.name)
            self.assertEqual(two.run("systemctl", "is-system-running").stdout.strip(), "running")
            one.facts = json.loads(lab("up", "--name", one.name).stdout)

    def test_a_second_lab_of_one_name_is_refused_and_harms_nothing(self):
        with Lab("twice") as one:
            done = lab("up", "--name", one.name, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"there is a lab {one.name} already", done.stderr)
            self.assertEqual(one.run("systemctl", "is-system-running").stdout.strip(), "running")


class Reboots(unittest.TestCase):
    def test_a_power_cut_keeps_the_disk_and_loses_the_rest(self):
        with Lab("reboots") as one:
            one.run("touch", "/etc/kept", "/run/lost")
            one.run("systemd-run", "--unit", "lost", "sleep", "1000")
            one.service("clear")
            again = json.loads(lab("reboot", "--name", one.name).stdout)
            self.assertEqual(again["machine_id"], one.facts["machine_id"])
            self.assertNotEqual(again["boot_id"], one.facts["boot_id"])
            self.assertEqual(one.run("ls", "/etc/kept", "/run/lost", check=False).stdout,
                             "/etc/kept\n")
            self.assertEqual(one.run("systemctl", "is-active", "lost",
                                     check=False).stdout.strip(), "inactive")
            one.talk("trusted-1")
            self.assertEqual(one.service("read", "trusted-1")["accepted"], 1)

    def test_power_off_ends_the_host_alone(self):
        with Lab("off") as one:
            pidfd = os.pidfd_open(one.facts["host_pid"])
            one.run("systemctl", "poweroff", check=False)
            self.assertEqual(select.select([pidfd], [], [], 60)[0], [pidfd])
            os.close(pidfd)
            done = one.run("true", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("lab reboot", done.stderr)
            self.assertTrue(one.service("list"))
            lab("reboot", "--name", one.name)
            one.run("true")


class Shapes(unittest.TestCase):
    def test_without_ipv6(self):
        with Lab("v4", "--no-ipv6") as one:
            self.assertNotIn("ipv6", [s["name"] for s in one.facts["services"]])
            done = one.run("/usr/bin/python3", "-c", TALK, "2001:db8:ffff::80/443", check=False)
            self.assertIn("Network is unreachable", done.stderr)
            self.assertNotIn("inet6", one.run("ip", "address", "show", "eth0").stdout)

    def test_a_lab_in_a_lab(self):
        """A machine with nothing but cgroup2, whose root is an overlay itself."""
        with Lab("outer") as one:
            one.run(LAB, "up", "--name", "inner", "--user", "inner", "--engine")
            self.assertEqual(one.run(LAB, "exec", "--name", "inner", "--", "systemctl",
                                     "is-system-running").stdout.strip(), "running")
            one.run(LAB, "down", "--name", "inner")
            self.assertNotIn("netproof-lab", one.run("ls", "/sys/fs/cgroup", "/run").stdout)

    def test_world_down(self):
        with Lab("dark", "--world-down") as one:
            done = one.talk("public", check=False)
            self.assertNotEqual(done.returncode, 0)
            one.world("ip", "link", "set", "lan0", "up")
            one.talk("public")


if __name__ == "__main__":
    unittest.main()
