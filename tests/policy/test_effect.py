#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the compiled policy lets through and what it rejects, packet by packet, on the
running kernel: real cgroups, real sockets, every frame on the wire looked at."""
import contextlib
import os
import select
import socket
import struct
import unittest

import world as w
from world import GATEWAY6, HOST, OTHER, OUTSIDE6, PROXY, RESOLVER, ROUTER, TRUSTED, netns

# What a local reject becomes: TCP and ICMP over IPv4 and IPv6, datagrams at once.
DENIED = {"EHOSTUNREACH", "EACCES", "EPERM"}
SOON = 0.7  # seconds for what must not happen; what must happen has more


class Base(unittest.TestCase):
    """One world for a class; each test starts from a fresh window."""
    loopback = True

    @classmethod
    def setUpClass(cls):
        cls.world = w.World(loopback=cls.loopback)
        cls.addClassCleanup(cls.world.stack.close)
        outside = cls.world.outside
        cls.servers = [outside.listen(a, p) for a, p in (
            (TRUSTED, 443), (TRUSTED, 8080), (TRUSTED, 444), (OTHER, 443),
            (RESOLVER, 53), (OUTSIDE6, 443), (OUTSIDE6, 53))]
        for server in cls.servers:
            cls.addClassCleanup(server.close)
        for address, port, family in ((RESOLVER, 53, socket.AF_INET),
                                      (RESOLVER, 5353, socket.AF_INET),
                                      (TRUSTED, 443, socket.AF_INET),
                                      (OUTSIDE6, 53, socket.AF_INET6)):
            server = w.EchoServer(outside, address, port, family)
            cls.addClassCleanup(server.close)
        world = cls.world
        cls.worker = world.actor(world.uid, world.worker)
        cls.daemon = world.actor(world.uid, world.daemon)
        cls.third = world.actor(world.uid, world.third)
        cls.root = world.actor(0)
        cls.stranger = world.actor(0, None, outside)

    def setUp(self):
        self.world.open_window()

    @contextlib.contextmanager
    def denied_on_wire(self):
        """Nothing new leaves the host inside the "with", and a rule of ours has counted
        a reject for it."""
        before = self.world.rejected()
        with self.world.host.capture(self.world.link) as wire:
            yield
        self.assertGreater(self.world.rejected(), before, "no rule rejected anything")
        # Neighbour discovery is the kernel's own.
        sent = [frame for frame in wire.frames if self.is_ours(frame)]
        self.assertEqual(sent, [])

    @staticmethod
    def is_ours(frame):
        """Whether a frame carries IPv4, or IPv6 other than neighbour discovery."""
        kind = struct.unpack("!H", frame[12:14])[0]
        if kind == 0x86dd:
            return not (frame[20] == 58 and 133 <= frame[54] <= 137) and frame[20] != 0
        return kind == 0x0800

    def assert_denied(self, outcome):
        self.assertIn(outcome, DENIED)


class Grants(Base):
    def test_worker_reaches_its_endpoints(self):
        for address, port in ((TRUSTED, 443), (TRUSTED, 8080), (RESOLVER, 53)):
            with self.subTest(address=address, port=port):
                self.assertEqual(self.worker.reach(address, port), "connected")
        self.assertEqual(self.worker.ask(RESOLVER, 53), "connected")

    def test_worker_reaches_nothing_else(self):
        attempts = {
            "another port": lambda: self.worker.reach(TRUSTED, 444),
            "another address": lambda: self.worker.reach(OTHER, 443),
            "nobody's port": lambda: self.worker.reach(OTHER, 1),
            "datagrams to a TCP endpoint": lambda: self.worker.ask(TRUSTED, 443),
            "another port of a resolver": lambda: self.worker.ask(RESOLVER, 5353),
            "echo requests": lambda: self.worker.ping(TRUSTED),
            "IPv6": lambda: self.worker.reach(OUTSIDE6, 443),
            "IPv6 datagrams": lambda: self.worker.ask(OUTSIDE6, 53),
            "IPv6 echo requests": lambda: self.worker.ping(OUTSIDE6),
            "the IPv6 gateway": lambda: self.worker.reach(GATEWAY6, 443),
        }
        for name, attempt in attempts.items():
            with self.subTest(name), self.denied_on_wire():
                self.assert_denied(attempt())

    def test_daemon_reaches_nothing_outside(self):
        attempts = {
            "trusted": lambda: self.daemon.reach(TRUSTED, 443),
            "DNS over TCP": lambda: self.daemon.reach(RESOLVER, 53),
            "DNS over UDP": lambda: self.daemon.ask(RESOLVER, 53),
            "IPv6": lambda: self.daemon.reach(OUTSIDE6, 443),
            "echo requests": lambda: self.daemon.ping(TRUSTED),
        }
        for name, attempt in attempts.items():
            with self.subTest(name), self.denied_on_wire():
                self.assert_denied(attempt())

    def test_daemon_reaches_the_candidates_endpoints(self):
        listener, _ = self.worker.listen(*ROUTER)
        proxy, _ = self.root.listen(*PROXY)
        for actor, handle, endpoint in ((self.worker, listener, ROUTER),
                                        (self.root, proxy, PROXY)):
            outcome, flow = self.daemon.connect(*endpoint)
            self.assertEqual(outcome, "connected")
            self.assertEqual(actor.accept(handle)[0], "connected")
            self.daemon.drop(flow)
        for actor, handle in ((self.worker, listener), (self.root, proxy)):
            actor.drop(handle)

    def test_everybody_else_of_the_subjects_reaches_nothing(self):
        world = self.world
        others = {
            "a third cgroup": self.third,
            "no cgroup": world.actor(world.uid),
            "a subordinate uid": world.actor(world.subordinate),
            "the last subordinate uid": world.actor(world.subordinate + 63),
            "a subordinate uid in the worker's cgroup":
                world.actor(world.subordinate, world.worker),
            "a subordinate uid in the daemon's cgroup":
                world.actor(world.subordinate, world.daemon),
        }
        listener, _ = self.root.listen(*PROXY)
        attempts = {
            "trusted": lambda who: who.reach(TRUSTED, 443),
            "the proxy": lambda who: who.reach(*PROXY),
            "DNS": lambda who: who.ask(RESOLVER, 53),
            "loopback": lambda who: who.reach("127.0.0.1", 1),
            "loopback datagrams": lambda who: who.ask("127.0.0.1", 1),
            "IPv6 loopback": lambda who: who.reach("::1", 1),
            "IPv6": lambda who: who.reach(OUTSIDE6, 443),
            "echo requests": lambda who: who.ping(TRUSTED),
        }
        for name, actor in others.items():
            for what, attempt in attempts.items():
                with self.subTest(name, to=what), self.denied_on_wire():
                    self.assert_denied(attempt(actor))
        self.root.drop(listener)

    def test_a_mapped_subordinate_uid_is_a_subject(self):
        """As newuidmap does it: uid 0 of a user namespace that is a subordinate uid
        outside, in the host's network namespace."""
        world = self.world
        before = world.rejected()
        ready, go = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                netns.setns(world.host.fd, netns.CLONE_NEWNET)
                netns.unshare(0x10000000)  # CLONE_NEWUSER
                os.write(ready[1], b"1")
                os.read(go[0], 1)
                os.setresuid(0, 0, 0)
                netns.die_with_parent()
                with socket.socket() as made:
                    made.settimeout(5)
                    made.connect((TRUSTED, 443))
                os._exit(0)
            except OSError as error:
                os._exit(error.errno or 255)
            finally:
                os._exit(254)
        os.read(ready[0], 1)
        with open(f"/proc/{child}/uid_map", "w", encoding="ascii") as file:
            file.write(f"0 {world.subordinate} 1\n")
        os.write(go[1], b"1")
        _, status = os.waitpid(child, 0)
        for end in ready + go:
            os.close(end)
        self.assertEqual(os.strerror(os.waitstatus_to_exitcode(status)),
                         os.strerror(113))  # EHOSTUNREACH
        self.assertGreater(world.rejected(), before)

    def test_other_uids_are_left_alone(self):
        world = self.world
        for name, actor in {
                "root": self.root,
                "a neighbour": world.actor(world.uid + 1),
                "before the subordinate uids": world.actor(world.subordinate - 1),
                "behind the subordinate uids": world.actor(world.subordinate + 64),
                "root in the worker's cgroup": world.actor(0, world.worker)}.items():
            with self.subTest(name):
                before = world.rejected()
                self.assertEqual(actor.reach(OTHER, 443), "connected")
                self.assertEqual(actor.reach(OUTSIDE6, 443), "connected")
                self.assertEqual(actor.ask(RESOLVER, 5353), "connected")
                self.assertEqual(actor.ping(TRUSTED), "connected")
                self.assertEqual(world.rejected(), before)

    def test_an_answer_may_be_late_and_a_packet_lost(self):
        """A SYN that is sent again, and two datagrams before any answer, belong to
        flows that are ours already."""
        world = self.world
        world.outside.nft("table inet lossy { chain c { type filter hook prerouting "
                          "priority -300; tcp dport 8080 tcp flags syn quota until "
                          "70 bytes drop; udp dport 53 quota until 40 bytes drop; }; }")
        try:
            self.assertEqual(self.worker.reach(TRUSTED, 8080, 10), "connected")
            self.assertEqual(self.worker.ask_twice(RESOLVER, 53), "connected")
        finally:
            world.outside.nft("delete table inet lossy")


class Cgroups(Base):
    def test_where_a_socket_was_made_counts(self):
        """Not where its process is when it sends."""
        mover = self.world.actor(self.world.uid, self.world.third)
        outside, before = mover.make(TRUSTED), mover.make(TRUSTED)
        with self.denied_on_wire():
            self.assert_denied(mover.join(before, TRUSTED, 443))
        self.world.worker.take(mover.pid)
        with self.denied_on_wire():
            self.assert_denied(mover.join(outside, TRUSTED, 443))
        inside = mover.make(TRUSTED)
        self.assertEqual(mover.reach(TRUSTED, 443), "connected")
        self.world.third.take(mover.pid)
        self.assertEqual(mover.join(inside, TRUSTED, 443), "connected")
        with self.denied_on_wire():
            self.assert_denied(mover.reach(TRUSTED, 443))
        mover.close()


class StaleCgroup(Base):
    def test_a_cgroup_that_was_made_again_is_another(self):
        """Its grants are nobody's until the policy is loaded anew."""
        world = self.world
        self.assertEqual(self.worker.reach(TRUSTED, 443), "connected")
        inode = world.worker.inode()
        self.worker.close()
        world.worker.close()
        world.worker = w.Group(world.worker.relative)
        self.addClassCleanup(world.worker.close)
        self.assertNotEqual(world.worker.inode(), inode)
        worker = world.actor(world.uid, world.worker)
        with self.denied_on_wire():
            self.assert_denied(worker.reach(TRUSTED, 443))
        world.open_window()
        self.assertEqual(worker.reach(TRUSTED, 443), "connected")
        worker.close()


class Replies(Base):
    def exchange(self, client, client_flow, server, server_flow):
        client.send(client_flow, 5)
        self.assertEqual(server.receive(server_flow), b"xxxxx")
        server.send(server_flow, 3)
        self.assertEqual(client.receive(client_flow), b"xxx")

    def assert_served(self, client, server, address, port=0):
        handle, port = server.listen(address, port)
        outcome, flow = client.connect(address, port)
        self.assertEqual(outcome, "connected")
        _, accepted, _ = server.accept(handle)
        self.exchange(client, flow, server, accepted)
        # Both sides end in order.
        client.drop(flow)
        self.assertEqual(server.receive(accepted), b"")
        server.drop(accepted)
        server.drop(handle)

    def assert_not_served(self, client, server, address, port=0):
        handle, port = server.listen(address, port)
        outcome, _ = client.connect(address, port, SOON)
        self.assertIn(outcome, DENIED | {"timeout"})
        server.drop(handle)

    def test_router(self):
        for name, client in (("from outside", self.stranger), ("a candidate's", self.daemon),
                             ("of another user", self.root)):
            with self.subTest(name):
                self.assert_served(client, self.worker, *ROUTER)

    def test_router_that_is_not_the_workers(self):
        for name, client in (("from outside", self.stranger), ("a candidate's", self.daemon),
                             ("of another user", self.root)):
            for server in (self.third, self.daemon):
                with self.subTest(name):
                    self.assert_not_served(client, server, *ROUTER)

    def test_worker_on_another_address_or_port(self):
        self.assert_not_served(self.stranger, self.worker, HOST)
        self.assert_not_served(self.stranger, self.worker, ROUTER[0])
        self.assert_not_served(self.root, self.worker, "127.0.0.1")

    def test_published_ports(self):
        self.assert_served(self.root, self.daemon, "127.0.0.1")
        self.assert_served(self.root, self.daemon, "127.1.2.3")
        self.assert_not_served(self.root, self.third, "127.0.0.1")
        self.assert_not_served(self.stranger, self.daemon, HOST)
        self.assert_not_served(self.root, self.daemon, "::1")
        self.assert_not_served(self.daemon, self.daemon, "127.0.0.1")

    def test_loopback_grant(self):
        self.assert_served(self.worker, self.root, "127.0.0.1")
        self.assert_served(self.worker, self.worker, "127.0.0.1")
        self.assert_served(self.worker, self.daemon, "127.0.0.1")
        self.assert_not_served(self.worker, self.third, "127.0.0.1")
        self.assert_not_served(self.worker, self.root, "::1")
        self.assert_not_served(self.worker, self.root, HOST)

    def test_listener_under_syncookies(self):
        self.world.host.sysctl("net/ipv4/tcp_syncookies", 2)
        try:
            self.assert_served(self.stranger, self.worker, *ROUTER)
            self.assert_served(self.daemon, self.worker, *ROUTER)
        finally:
            self.world.host.sysctl("net/ipv4/tcp_syncookies", 1)


class NoLoopback(Base):
    loopback = False

    def test_loopback_is_a_grant(self):
        handle, port = self.root.listen("127.0.0.1")
        before = self.world.rejected()
        self.assert_denied(self.worker.reach("127.0.0.1", port))
        self.assertGreater(self.world.rejected(), before)
        self.root.drop(handle)
        handle, port = self.worker.listen("127.0.0.1")
        self.assert_denied(self.worker.reach("127.0.0.1", port))
        self.worker.drop(handle)

    def test_published_ports_are_none(self):
        handle, port = self.daemon.listen("127.0.0.1")
        self.assertEqual(self.root.reach("127.0.0.1", port), "connected")
        self.assert_denied(self.worker.reach("127.0.0.1", port))
        self.daemon.drop(handle)


class Marks(Base):
    """A foreign mark is never overwritten, and a new flow that has any matches no
    allowing rule."""

    def profile_marks(self):
        """worker, daemon, both: from the listing's flows."""
        for item in self.world.listing():
            if item.get("set", {}).get("name") == "flows":
                mark = item["set"]["elem"][0]["elem"]["val"]
        return mark | 1 << 18, mark | 2 << 18, mark | 3 << 18

    @contextlib.contextmanager
    def foreign(self, hook, match, mark):
        """A table that marks first, before the policy, and one that counts after it."""
        self.world.host.nft(
            f"table inet foreign {{"
            f" chain first {{ type filter hook {hook} priority -160; {match} "
            f"   ct state new ct mark 0 ct mark set {mark}; }};"
            f" chain last {{ type filter hook {hook} priority -100;"
            f"   {match} ct mark {mark} counter comment \"kept\";"
            f"   {match} ct mark != {mark} counter comment \"changed\"; }}; }}")
        try:
            yield
        finally:
            self.world.host.nft("delete table inet foreign")

    def counts(self):
        """Packets seen after the policy with the foreign mark, and with another."""
        found = {}
        done = self.world.host.run([netns.NFT, "-j", "list", "table", "inet", "foreign"])
        for item in w.json.loads(done.stdout)["nftables"]:
            rule = item.get("rule", {})
            for part in rule.get("expr", []):
                if "counter" in part:
                    found[rule.get("comment")] = part["counter"]["packets"]
        return found["kept"], found["changed"]

    def test_outgoing(self):
        for mark in (0x1, 0xffffffff, *self.profile_marks(), 0x4e500000):
            with self.subTest(mark=hex(mark)):
                with self.foreign("output", "tcp dport 443", mark), self.denied_on_wire():
                    # The error that a reject sends back belongs to the flow, and is
                    # itself rejected if that has a mark of ours but no window.
                    self.assertIn(self.worker.reach(TRUSTED, 443, SOON),
                                  DENIED | {"timeout"})
        self.assertEqual(self.worker.reach(TRUSTED, 443), "connected")

    def test_outgoing_daemon(self):
        handle, _ = self.root.listen(*PROXY)
        for mark in (0x1, *self.profile_marks()):
            with self.subTest(mark=hex(mark)):
                with self.foreign("output", f"tcp dport {PROXY[1]}", mark):
                    self.assert_denied(self.daemon.reach(*PROXY))
        self.root.drop(handle)

    def test_incoming(self):
        handle, _ = self.worker.listen(*ROUTER)
        match = f"ip daddr {ROUTER[0]} tcp dport {ROUTER[1]}"
        for mark in (0x1, 0xffffffff, 0x4e500000):
            with self.subTest(mark=hex(mark)), self.foreign("input", match, mark):
                self.assertEqual(self.stranger.reach(*ROUTER, SOON), "timeout")
                kept, changed = self.counts()
                self.assertGreater(kept, 0)
                self.assertEqual(changed, 0)
        self.assertEqual(self.stranger.reach(*ROUTER), "connected")
        self.worker.drop(handle)

    def test_untracked_flows_are_rejected(self):
        self.world.host.nft("table inet foreign { chain c { type filter hook output "
                            "priority -300; tcp dport 443 notrack; }; }")
        try:
            with self.denied_on_wire():
                self.assert_denied(self.worker.reach(TRUSTED, 443))
        finally:
            self.world.host.nft("delete table inet foreign")

    def test_flows_of_an_earlier_window_do_not_come_back(self):
        """A flow keeps its mark; the next profile's is another."""
        outcome, flow = self.worker.connect(TRUSTED, 443)
        self.assertEqual(outcome, "connected")
        self.world.open_window()
        before = self.world.rejected()
        with self.denied_on_wire():
            self.worker.send(flow, 100)
            select.select([], [], [], 0.5)
        self.assertGreater(self.world.rejected(), before)
        self.worker.drop(flow)
        self.assertEqual(self.worker.reach(TRUSTED, 443), "connected")


class Guard(Base):
    """The deny guard alone, and what a window leaves when it is revoked."""

    def test_nothing_passes(self):
        world = self.world
        listener, _ = self.root.listen(*PROXY)
        outcome, flow = self.worker.connect(TRUSTED, 443)
        self.assertEqual(outcome, "connected")
        for how in (world.revoke, lambda: world.load(world.guard_text())):
            world.open_window()
            how()
            for name, actor in (("worker", self.worker), ("daemon", self.daemon),
                                ("third", self.third)):
                for attempt in (lambda who: who.reach(TRUSTED, 443),
                                lambda who: who.reach(*PROXY),
                                lambda who: who.ask(RESOLVER, 53),
                                lambda who: who.reach("127.0.0.1", 1),
                                lambda who: who.reach(OUTSIDE6, 443)):
                    with self.subTest(name), self.denied_on_wire():
                        self.assert_denied(attempt(actor))
            with self.denied_on_wire():
                self.worker.send(flow, 100)
                select.select([], [], [], 0.3)
            self.assertEqual(self.root.reach(OTHER, 443), "connected")
        self.root.drop(listener)

    def test_scoped_listeners_answer_no_more(self):
        handle, _ = self.worker.listen(*ROUTER)
        self.assertEqual(self.stranger.reach(*ROUTER), "connected")
        self.world.revoke()
        self.assertEqual(self.stranger.reach(*ROUTER, SOON), "timeout")
        self.worker.drop(handle)

    def test_a_table_of_another_shape_is_replaced(self):
        world = self.world
        name = world.table
        shapes = {
            "none": "",
            "empty": f"table inet {name} {{ }}",
            "dormant": f"table inet {name} {{ flags dormant; chain output {{ type filter "
                       "hook output priority -310; policy accept; }; }",
            "another priority": f"table inet {name} {{ chain output {{ type filter hook "
                                "output priority 5; }; }",
            "another type": f"table inet {name} {{ chain output {{ type nat hook output "
                            "priority -100; }; set subjects { type ipv4_addr; }; }",
        }
        for label, shape in shapes.items():
            for opening in (False, True):
                with self.subTest(label, opening=opening):
                    world.host.nft(f"add table inet {name}; delete table inet {name}")
                    if shape:
                        world.host.nft(shape)
                    world.load(world.compile(world.issue(), None, "--replace") if opening
                               else world.guard_text("--replace"))
                    self.assert_denied(self.third.reach(TRUSTED, 443))
                    self.assertEqual(self.worker.reach(TRUSTED, 443) == "connected",
                                     opening)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
