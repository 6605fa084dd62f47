#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Under a packet storm, 1,000 changes of state let not one packet pass that should not.

Three storms at once: a third process of the workload user's and one of a subordinate
uid, which no state lets out; and another user's answers on a flow that an earlier
window let out, which have no uid of the subjects and must stop by their mark alone.
Guard to window, window to window, window to guard, over netlink and through nft.

NETPROOF_WEAKEN=window:N or guard:N leaves rule N of marked_output out of what is
loaded, to see the test fail.
"""
import os
import signal
import socket
import unittest

import world as w
from world import OTHER, netns

LOADS = int(os.environ.get("NETPROOF_LOADS", "1000"))
RESOLVER = "10.203.0.53"  # on the host itself
GUARD_LOAD = os.path.join(w.TOP, "build/tests/guard_load")


def weaken(text, state):
    """Leaves out the rule of marked_output that was asked for."""
    lines, number = [], 0
    for line in text.decode().splitlines():
        if line.startswith("add rule") and line.split()[4] == "marked_output":
            number += 1
            if os.environ.get("NETPROOF_WEAKEN") == f"{state}:{number - 1}":
                continue
        lines.append(line)
    return "\n".join(lines).encode() + b"\n"


class Answers:
    """Another user's datagrams on a flow that the worker opened, without end."""

    def __init__(self, world, worker):
        self.socket = world.host.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((RESOLVER, 53))
        self.socket.settimeout(10)
        worker.start("ask", RESOLVER, 53, 600)  # and waits for the answer
        _, peer = self.socket.recvfrom(100)
        self.pid = os.fork()
        if self.pid == 0:
            netns.die_with_parent()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            while True:
                try:
                    self.socket.sendto(b"answer", peer)
                except OSError:
                    pass

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()


class Reload(unittest.TestCase):
    def setUp(self):
        self.world = world = w.World(dns=((RESOLVER, 53),))
        self.addCleanup(world.stack.close)
        world.host.ip("address", "add", f"{RESOLVER}/32", "dev", "lo")
        world.outside.nft(f"table inet count {{ chain c {{ type filter hook input priority "
                          f"-300; ip daddr {OTHER} counter; }}; }}")
        world.host.nft(f"table inet count {{ chain c {{ type filter hook input priority "
                       f"-300; ip saddr {RESOLVER} udp sport 53 counter; }}; }}")

    def leaked(self, namespace):
        done = namespace.run([netns.NFT, "-j", "list", "table", "inet", "count"])
        return [part["counter"]["packets"]
                for item in w.json.loads(done.stdout)["nftables"]
                for part in item.get("rule", {}).get("expr", []) if "counter" in part][0]

    def loads(self):
        """One load after the other, each a different change of state."""
        world = self.world
        profile = world.issue(name="second.json")
        window = weaken(world.compile(profile), "window")
        guard = weaken(world.guard_text(), "guard")
        netlink = [GUARD_LOAD, world.table, f"{world.uid}-{world.uid}",
                   f"{world.subordinate}-{world.subordinate + 63}"]
        while True:
            yield lambda: world.load(window)
            yield lambda: world.load(window)
            yield lambda: world.load(guard)
            yield lambda: world.load(window)
            if "NETPROOF_WEAKEN" not in os.environ:
                yield lambda: world.host.run(netlink)

    def test_not_one_packet(self):
        world = self.world
        world.open_window(name="first.json")
        worker = world.actor(world.uid, world.worker)
        answers = Answers(world, worker)
        self.addCleanup(answers.close)
        world.revoke()
        storms = [world.actor(world.uid, world.third), world.actor(world.subordinate)]
        for storm in storms:
            storm.storm_begin(OTHER, 9)
        before = self.leaked(world.host)  # what passed while the window was open
        loads = self.loads()
        for number in range(LOADS):
            next(loads)()
            if number % 100 == 99:
                self.assertEqual((self.leaked(world.outside),
                                  self.leaked(world.host) - before), (0, 0),
                                 f"(subjects, marked) leaked in {number + 1} loads")
        attempts = [storm.storm_end() for storm in storms]
        rejected = world.rejected()
        print(f"{LOADS} loads, {sum(attempts)} attempts; {rejected} rejects counted "
              "since the last load")
        for count in attempts:
            self.assertGreater(count, LOADS)
        self.assertEqual(self.leaked(world.outside), 0)
        self.assertEqual(self.leaked(world.host), before)
        # The counters see what there is to see.
        root = world.actor(0)
        root.start("reach", OTHER, 9, 5)
        root.finish()
        self.assertGreater(self.leaked(world.outside), 0)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
