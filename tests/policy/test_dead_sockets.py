#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Sockets that outlive their process: what a worker left queued stops at revoke and at
the expiry, and inside the window an ordinary close still ends cleanly on both sides."""
import socket
import time
import unittest

import world as w
from world import HOST, TRUSTED, netns

MANY = 8 << 20


class DeadSockets(unittest.TestCase):
    def setUp(self):
        self.world = world = w.World()
        self.addCleanup(world.stack.close)
        self.server = world.outside.listen(TRUSTED, 443)
        self.addCleanup(self.server.close)
        self.server.settimeout(10)
        world.outside.nft("table inet count { chain c { type filter hook input priority "
                          f"-300; ip saddr {HOST} tcp dport 443 counter; }}; }}")

    def arrived(self):
        """Packets of the host's that came to the endpoint."""
        done = self.world.outside.run([netns.NFT, "-j", "list", "table", "inet", "count"])
        return [part["counter"]["packets"]
                for item in w.json.loads(done.stdout)["nftables"]
                for part in item.get("rule", {}).get("expr", []) if "counter" in part][0]

    def queue_and_leave(self):
        """A worker that fills its socket to an endpoint that does not read, and is gone.
        Gives the endpoint's side and the bytes that were taken from the worker."""
        worker = self.world.actor(self.world.uid, self.world.worker)
        outcome, flow = worker.connect(TRUSTED, 443)
        self.assertEqual(outcome, "connected")
        accepted, _ = self.server.accept()
        self.addCleanup(accepted.close)
        worker.option(flow, socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        queued = worker.send(flow, MANY)
        self.assertGreater(queued, 1 << 20)
        worker.leave()
        return accepted, queued

    @staticmethod
    def read_all(accepted, quiet):
        """All that comes until the end of the flow, or until nothing has come for
        `quiet` seconds: how much, and whether it ended."""
        accepted.settimeout(quiet)
        size = 0
        try:
            while data := accepted.recv(1 << 20):
                size += len(data)
            return size, True
        except TimeoutError:
            return size, False

    def test_an_ordinary_close_ends_cleanly(self):
        """And so the next two could see what leaves."""
        self.world.open_window()
        accepted, queued = self.queue_and_leave()
        before = self.arrived()
        self.assertEqual(self.read_all(accepted, 20), (queued, True))
        self.assertGreater(self.arrived(), before)

    def test_nothing_leaves_after_revoke(self):
        self.world.open_window()
        accepted, queued = self.queue_and_leave()
        self.world.revoke()
        before = self.arrived()
        size, is_ended = self.read_all(accepted, 3)
        self.assertEqual(self.arrived(), before)
        self.assertLess(size, queued)
        self.assertFalse(is_ended)
        self.assertGreater(self.world.rejected(), 0)

    def test_nothing_leaves_after_the_expiry(self):
        now = int(time.time())
        profile = self.world.issue(issued_at_unix=now - 10, expires_at_unix=now + 4)
        self.world.load(self.world.compile(profile, now))
        accepted, queued = self.queue_and_leave()
        time.sleep(max(0, now + 4.01 - time.time()))
        before = self.arrived()
        size, is_ended = self.read_all(accepted, 3)
        self.assertEqual(self.arrived(), before)
        self.assertLess(size, queued)
        self.assertFalse(is_ended)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
