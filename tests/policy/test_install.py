#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""install, revoke and show: from the worker unit's own place alone, the guard first and
after every failure, and what is loaded said to a person."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import world as w  # which finds tests/lib, too
import nfnetlink as nf
import terminal
from world import TRUSTED, netns

CLONE_NEWUSER = 0x10000000


class Install(unittest.TestCase):
    def setUp(self):
        self.world = world = w.World()
        self.addCleanup(world.stack.close)
        self.server = world.outside.listen(TRUSTED, 443)
        self.addCleanup(self.server.close)
        self.worker = world.actor(world.uid, world.worker)

    def install(self, profile, group="worker", before=None):
        group = getattr(self.world, group) if group else None

        def enter():
            if group:
                with open(os.path.join(group.path, "cgroup.procs"), "w") as file:
                    file.write("0")
            if before:
                before()

        return self.world.policy("install", "--profile", profile, *self.world.of_site(),
                                 check=False, preexec_fn=enter)

    def show(self):
        return self.world.policy("show", "--site", self.world.site).decode()

    def has_table(self):
        return self.world.host.run([netns.NFT, "list", "table", "inet", self.world.table],
                                   check=False).returncode == 0

    def is_guard(self):
        return self.world.policy("diff", "--guard", *self.world.of_site(),
                                 check=False).returncode == 0

    def reaches(self):
        return self.worker.reach(TRUSTED, 443, 5) == "connected"

    def test_opens_the_window(self):
        done = self.install(self.world.issue())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(self.reaches())
        self.world.revoke()
        self.assertTrue(self.is_guard())
        self.assertFalse(self.reaches())

    def test_elsewhere_nothing_is_changed(self):
        profile = self.world.issue()
        places = {"no unit": (None, None), "the daemon's": ("daemon", None),
                  "another cgroup namespace":
                      ("worker", lambda: netns.unshare(netns.CLONE_NEWCGROUP)),
                  "another user namespace":
                      ("worker", lambda: netns.unshare(CLONE_NEWUSER))}
        for name, (group, before) in places.items():
            with self.subTest(name):
                done = self.install(profile, group, before)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertTrue(done.stderr.startswith(b"net-policy: refused: "))
                self.assertFalse(self.has_table())

    def test_whatever_fails_leaves_the_guard(self):
        now = int(time.time())
        bad = {"expired": {"issued_at_unix": now - 20, "expires_at_unix": now - 10},
               "too old": {"issued_at_unix": now - 400},
               "malformed": {"trusted_tcp": []}}
        for name, changes in bad.items():
            for was_open in (False, True):
                with self.subTest(name, was_open=was_open):
                    if was_open:
                        self.assertEqual(self.install(self.world.issue()).returncode, 0)
                        self.assertTrue(self.reaches())
                    done = self.install(self.world.issue(name="bad.json", **changes))
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertTrue(self.is_guard())
                    self.assertFalse(self.reaches())

    def test_a_profile_that_is_not_there(self):
        done = self.install(os.path.join(self.world.folder, "none.json"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"none.json: does not exist", done.stderr)
        self.assertTrue(self.is_guard())

    def test_show(self):
        done = self.world.policy("show", "--site", self.world.site, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"no such table of family inet: nothing is enforced", done.stderr)
        self.world.revoke()
        self.assertIn(": the deny guard\n", self.show())
        self.assertFalse(self.reaches())
        self.assertRegex(self.show(), r"chain output\n +[1-9]\d*  meta skuid @subjects")
        self.assertEqual(self.install(self.world.issue(window=200)).returncode, 0)
        self.assertTrue(self.reaches())
        text = self.show()
        self.assertIn(": an open window\n", text)
        for clock in ("wall clock", "kernel's clock"):
            left = int(re.search(rf"{clock}: (\d+) s left", text).group(1))
            self.assertTrue(100 < left <= 200, text)
        self.assertRegex(text, rf"\n +1  .*ip daddr {TRUSTED} tcp dport 443 .*accept\n")
        self.assertNotIn("meta time", text)
        self.assertRegex(text, r"\n  its end: 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")

    def test_show_of_a_guard_that_is_none(self):
        """Rules without a counter are shown, too; what others wrote, without control
        characters."""
        table = self.world.table
        for rule, shown in (("accept", r"\n +-  accept\n"),
                            ("counter accept", r"\n +0  accept\n"),
                            ("meta skuid 7 counter drop", r"\n +0  meta skuid 7 drop\n"),
                            ("counter reject", r"\n +0  reject\n")):
            with self.subTest(rule):
                self.world.revoke()
                self.assertIn(": the deny guard\n", self.show())
                self.world.load(f"insert rule inet {table} output {rule}\n".encode())
                self.assertIn(": neither window nor guard\n", self.show())
                self.assertRegex(self.show(), shown)
        self.world.revoke()
        self.comment(b"\x1b[2J\xff")
        self.assertIn('comment "?[2J?"\n', self.show())
        self.world.revoke()
        self.comment(b'"\n\t}\n\tchain scoped_output {\n\t\tmeta time "2020-01-01 00:00:00"-'
                     b'"2099-01-01 00:00:00" counter packets 1 bytes 1 accept')
        self.assertIn(": neither window nor guard\n", self.show())

    def comment(self, text):
        """Adds a rule with a comment to the guard."""
        with self.world.host.entered():
            link = nf.Link()
        with link:
            link.commit(nf.message(
                nf.NEWRULE, nf.attribute(1, self.world.table), nf.attribute(2, "output"),
                nf.attribute(4, [nf.expression("counter")]),
                nf.attribute(7, bytes([0, len(text) + 1]) + text + b"\0"),
                flags=nf.CREATE | nf.APPEND))

    def on_terminal(self, *arguments, **variables):
        def run(slave):
            self.world.policy(*arguments, check=False, stdout=slave,
                              env={"TERM": "xterm", **variables})
        return terminal.given_by(run)

    def test_colours(self):
        self.world.revoke()
        show = ["show", "--site", self.world.site]
        diff = ["diff", "--guard", *self.world.of_site()]
        self.assertIn(b"\x1b[32m: the deny guard\x1b[0m\n", self.on_terminal(*show))
        self.world.host.run([netns.NFT, "flush", "chain", "inet", self.world.table, "output"])
        piped = self.world.policy(*diff, check=False).stdout
        shown = self.on_terminal(*diff)
        self.assertEqual(terminal.plain(shown), piped)
        self.assertIn(b"\x1b[1;31m is missing\x1b[0m\n", shown)
        self.assertRegex(shown, rb"\n\x1b\[32m\tmust be: .*\x1b\[0m\n")
        self.assertEqual(self.on_terminal(*diff, NO_COLOR="1"), piped)

    def test_show_of_clocks_that_disagree(self):
        now = int(time.time())
        profile = self.world.issue(issued_at_unix=now - 20, expires_at_unix=now - 1)
        self.world.load(self.world.compile(profile, now - 60))
        text = self.show()
        self.assertIn(": an expired window\n", text)
        self.assertIn("wall clock: over\n", text)
        self.assertRegex(text, r"kernel's clock: \d+ s left")


class Killed(Install):
    """Ended at any moment: what is in the kernel is the guard or a window, whole; the next
    revoke works; no process is left."""

    MOMENTS = 10

    # What Install tests is not tested once more.
    locals().update({name: None for name in dir(Install) if name.startswith("test_")})

    def start(self, *arguments):
        def enter():
            with open(os.path.join(self.world.worker.path, "cgroup.procs"), "w") as file:
                file.write("0")

        return self.world.host.popen([w.NET_POLICY, *arguments], preexec_fn=enter,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def descendants(self, pid):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                found = [int(word) for word in file.read().split()]
            return found + [deep for child in found for deep in self.descendants(child)]
        return []

    def end_at(self, moment, number, arguments):
        """Ends a run `moment` seconds after its start, and waits for all of it."""
        child = self.start(*arguments)
        fd = os.pidfd_open(child.pid)
        ready, _, _ = w.select.select([fd], [], [], moment)
        fds = [fd]
        if not ready:
            os.kill(child.pid, signal.SIGSTOP)  # so that it makes no more children
            for pid in self.descendants(child.pid):
                with contextlib.suppress(ProcessLookupError):
                    fds.append(os.pidfd_open(pid))
            child.send_signal(number)
            os.kill(child.pid, signal.SIGCONT)
        child.wait(60)
        for fd in fds:
            ready, _, _ = w.select.select([fd], [], [], 30)
            os.close(fd)
            self.assertTrue(ready, "a child has outlived net-policy")
        return child.returncode

    def state(self, *profiles):
        if self.is_guard():
            return "guard"
        for profile in profiles:
            done = self.world.policy("diff", "--profile", profile, *self.world.of_site(),
                                     check=False)
            if done.returncode == 0:
                return profile
        return "neither"

    def sweep(self, allowed, *arguments, before=None):
        """Ends `arguments` at moments all over its run; what states there were."""
        started = time.monotonic()
        self.assertEqual(self.start(*arguments).wait(60), 0)
        length = time.monotonic() - started
        seen = set()
        for number in range(self.MOMENTS):
            if before:
                before()
            end = (signal.SIGKILL, signal.SIGTERM)[number % 2]
            status = self.end_at(length * number / self.MOMENTS, end, arguments)
            with self.subTest(arguments[0], moment=number, status=status):
                self.assertIn(status, (0, -signal.SIGKILL, -signal.SIGTERM))
                state = self.state(*allowed)
                seen.add(state)
                self.assertIn(state, {"guard", *allowed})
        return seen

    def test_install(self):
        def before():
            self.world.revoke()
            self.world.issue()  # fresh each time: a slow run must not outlive it

        self.world.revoke()
        profile = self.world.issue()
        seen = self.sweep([profile], "install", "--profile", profile, *self.world.of_site(),
                          before=before)
        self.assertIn("guard", seen)
        self.world.revoke()
        self.assertTrue(self.is_guard())
        self.assertFalse(self.reaches())

    def test_install_over_a_window(self):
        def before():
            new, old = self.world.issue(name="new.json"), self.world.issue()
            self.assertEqual(self.install(old).returncode, 0)
            return new, old

        new, old = before()
        self.sweep([old, new], "install", "--profile", new, *self.world.of_site(),
                   before=before)
        self.world.revoke()
        self.assertTrue(self.is_guard())

    def test_revoke(self):
        self.sweep([self.world.issue()], "revoke", *self.world.of_site(),
                   before=lambda: self.assertEqual(
                       self.install(self.world.issue()).returncode, 0))

    def test_what_only_reads(self):
        profile = self.world.issue()
        self.assertEqual(self.install(profile).returncode, 0)
        for verb in (["show", "--site", self.world.site],
                     ["diff", "--profile", profile, *self.world.of_site()]):
            self.assertEqual(self.sweep([profile], *verb), {profile})


def enter_pid_namespace():
    """install compares itself with PID 1, whom not every machine lets root look at: in
    a pid namespace of the test's own, PID 1 is the test's."""
    if os.getpid() != 1:
        os.environ["NETPROOF_NUMBER"] = str(os.getpid())
        os.execv("/usr/bin/unshare", ["unshare", "--mount", "--pid", "--fork",
                                      "--kill-child", "--mount-proc", sys.executable,
                                      *sys.argv])


if __name__ == "__main__":
    enter_pid_namespace()
    netns.exit_on_signals()
    unittest.main()
