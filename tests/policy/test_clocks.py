#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The window ends: for new and established flows, on whichever clock ends it first.

The wall clock is in the rules (meta time), the kernel's own in the elements'
time-outs. The machine's clock is never touched: the two are made to disagree by the
profile's times and by `compile --now`.
"""
import time
import unittest

import world as w
from world import PROXY, RESOLVER, ROUTER, TRUSTED, netns

DENIED = {"EHOSTUNREACH", "EACCES", "EPERM"}
SOON = 0.7
LONG = 3600


class Ends(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = world = w.World()
        cls.addClassCleanup(world.stack.close)
        cls.server = world.outside.listen(TRUSTED, 443)
        cls.addClassCleanup(cls.server.close)
        cls.server.settimeout(10)
        resolver = w.EchoServer(world.outside, RESOLVER, 53)
        cls.addClassCleanup(resolver.close)
        cls.worker = world.actor(world.uid, world.worker)
        cls.daemon = world.actor(world.uid, world.daemon)
        cls.root = world.actor(0)
        cls.stranger = world.actor(0, None, world.outside)

    def open(self, wall_left, elements_left):
        """A window that the rules end in `wall_left` seconds, and the elements in
        `elements_left`: counted from the same second. Gives that second."""
        world = self.world
        now = int(time.time())
        profile = world.issue(issued_at_unix=now - 10, expires_at_unix=now + wall_left)
        world.load(world.compile(profile, now + wall_left - elements_left))
        return now

    def check_open(self):
        """Everything that is granted works; the flows that were made."""
        outcome, trusted = self.worker.connect(TRUSTED, 443)
        self.assertEqual(outcome, "connected")
        accepted, _ = self.server.accept()
        self.addCleanup(accepted.close)
        self.assertEqual(self.worker.ask(RESOLVER, 53), "connected")
        router, _ = self.worker.listen(*ROUTER)
        outcome, incoming = self.stranger.connect(*ROUTER)
        self.assertEqual(outcome, "connected")
        _, served, _ = self.worker.accept(router)
        proxy, _ = self.root.listen(*PROXY)
        outcome, candidate = self.daemon.connect(*PROXY)
        self.assertEqual(outcome, "connected")
        _, proxied, _ = self.root.accept(proxy)
        return {"trusted": (self.worker, trusted), "incoming": (self.stranger, incoming),
                "served": (self.worker, served), "candidate": (self.daemon, candidate),
                "proxied": (self.root, proxied), "router": (self.worker, router),
                "proxy": (self.root, proxy), "accepted": accepted}

    def check_ended(self, flows):
        """Nothing new, and not a byte over what was established."""
        self.assertIn(self.worker.reach(TRUSTED, 443, SOON), DENIED)
        self.assertIn(self.worker.ask(RESOLVER, 53, SOON), DENIED)
        self.assertIn(self.daemon.reach(*PROXY, SOON), DENIED)
        self.assertEqual(self.stranger.reach(*ROUTER, SOON), "timeout")
        accepted = flows.pop("accepted")
        accepted.settimeout(SOON)
        self.worker.send(flows["trusted"][1], 10)
        with self.assertRaises(TimeoutError):
            accepted.recv(10)
        # Both ends of the flow on this host: the daemon's packets by their uid, the
        # proxy's, of another user, by their mark.
        for sender, receiver in (("served", "incoming"), ("candidate", "proxied"),
                                 ("proxied", "candidate")):
            with self.subTest(sender=sender):
                who, flow = flows[sender]
                self.assertEqual(who.send(flow, 10), 10)
                who, flow = flows[receiver]
                self.assertEqual(who.receive(flow, SOON), "timeout")
        for who, flow in flows.values():
            who.drop(flow)

    def test_both_clocks(self):
        start = self.open(4, 4)
        flows = self.check_open()
        time.sleep(max(0, start + 4 - time.time()))
        self.check_ended(flows)

    def test_wall_clock_first(self):
        """Elements that would live on for an hour."""
        start = self.open(4, LONG)
        flows = self.check_open()
        time.sleep(max(0, start + 4 - time.time()))
        self.assertEqual(len(self.timed_elements()), 4)
        self.check_ended(flows)

    def test_kernel_clock_first(self):
        """Rules that would match for an hour."""
        self.open(LONG, 4)
        started = time.monotonic()
        flows = self.check_open()
        time.sleep(max(0, started + 4 - time.monotonic()))
        self.check_ended(flows)
        self.assertEqual(self.timed_elements(), [])

    def test_not_yet(self):
        """A window that is in the future on the wall clock alone."""
        world = self.world
        now = int(time.time())
        profile = world.issue(issued_at_unix=now + 1000, expires_at_unix=now + 2000)
        world.load(world.compile(profile, now))
        self.assertIn(self.worker.reach(TRUSTED, 443, SOON), DENIED)

    def timed_elements(self):
        found = []
        for item in self.world.listing():
            if item.get("set", {}).get("name") in ("lease", "worker", "daemon", "flows"):
                found += item["set"].get("elem", [])
        return found

    def test_timeouts_are_what_is_left(self):
        world = self.world
        now = int(time.time())
        profile = world.issue(window=100)
        with open(profile, encoding="utf-8") as file:
            expires = w.json.load(file)["expires_at_unix"]
        text = world.compile(profile, now).decode()
        self.assertEqual(text.count(f"timeout {(expires - now) * 1000}ms"), 4)
        # Without --now, the milliseconds count.
        before = time.time()
        text = world.compile(profile).decode()
        left = int(text.split("timeout ", 1)[1].split("ms", 1)[0])
        self.assertLessEqual(left, (expires - before) * 1000)
        self.assertGreaterEqual(left, (expires - time.time()) * 1000 - 1)

    def test_a_reload_gives_elements_new_timeouts(self):
        """An element that is there keeps its time-out if it is added again."""
        world = self.world
        now = int(time.time())
        profile = world.issue(window=200)
        for left in (50, 150, 20):
            with open(profile, encoding="utf-8") as file:
                expires = w.json.load(file)["expires_at_unix"]
            world.load(world.compile(profile, expires - left))
            elements = self.timed_elements()
            self.assertEqual(len(elements), 4)
            for element in elements:
                self.assertEqual(element["elem"]["timeout"], left)
                self.assertLessEqual(element["elem"]["expires"], left)
        self.assertGreater(now, 0)

    def test_expired_is_refused(self):
        world = self.world
        profile = world.issue(window=5)
        with open(profile, encoding="utf-8") as file:
            expires = w.json.load(file)["expires_at_unix"]
        done = world.policy("compile", "--profile", profile,
                            *world.of_site("--now", str(expires)), check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertEqual(done.stderr,
                         b"net-policy: refused: expires_at_unix: has passed\n")


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
