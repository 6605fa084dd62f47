#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every outcome, on the real kernel: what stands in the way is real, and the agent
must say which."""
import contextlib
import ctypes
import errno
import itertools
import os
import resource
import socket
import struct
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Agent, netns, wait_until_blocked  # noqa: E402

SLOW = 60000  # a time-out that no test may meet
HERE, THERE = "10.11.0.1", "10.11.0.2"
HERE6, THERE6 = "fd00:11::1", "fd00:11::2"
TC = "/usr/sbin/tc"
PORT = 4040


def hooked(hook, rule):
    """A table with one rule."""
    return (f"table inet t {{ chain c {{ type filter hook {hook} priority 0; "
            f"{rule}; }}; }}")


class NetworkTest(unittest.TestCase):
    """Two namespaces, "here" with the agent, "there" with what it meets."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.here = cls.stack.enter_context(netns.Namespace())
        cls.there = cls.stack.enter_context(netns.Namespace())
        cls.link = netns.connect_pair(cls.here, [HERE + "/24", HERE6 + "/64"],
                                      cls.there, [THERE + "/24", THERE6 + "/64"])
        cls.agent = cls.stack.enter_context(Agent(cls.here))

    @contextlib.contextmanager
    def rules(self, namespace, text):
        namespace.nft(text)
        try:
            yield
        finally:
            namespace.nft("flush ruleset")

    def attempt(self, address, op="connect", timeout_ms=SLOW, port=PORT, **fields):
        answer = self.agent.ask(op, address=address, port=port, timeout_ms=timeout_ms,
                                **fields)
        self.assertIn("elapsed_us", answer)
        return answer["outcome"], answer.get("errno")


class ConnectTest(NetworkTest):
    def test_connected(self):
        for address in (THERE, THERE6):
            with self.there.listen(address, PORT):
                self.assertEqual(self.attempt(address), ("connected", None))
                self.assertEqual(self.attempt(address, "handshake"),
                                 ("handshake_completed", None))

    def test_refused_where_nobody_listens(self):
        for address in (THERE, THERE6):
            self.assertEqual(self.attempt(address), ("refused", "ECONNREFUSED"))
            self.assertEqual(self.attempt(address, "handshake"),
                             ("handshake_failed", "ECONNREFUSED"))

    def test_timeout_where_packets_are_dropped(self):
        for hook, space in (("output", self.here), ("input", self.there)):
            with self.rules(space, hooked(hook, f"tcp dport {PORT} drop")):
                for address in (THERE, THERE6):
                    answer = self.agent.ask("connect", address=address, port=PORT,
                                            timeout_ms=200)
                    self.assertEqual((answer["outcome"], answer["errno"]),
                                     ("timeout", "ETIMEDOUT"))
                    self.assertGreaterEqual(answer["elapsed_us"], 200000)

    def test_kernels_own_timeout(self):
        self.here.sysctl("net/ipv4/tcp_syn_retries", 1)
        self.here.sysctl("net/ipv4/tcp_syn_linear_timeouts", 0)
        try:
            with self.rules(self.there, hooked("input", f"tcp dport {PORT} drop")):
                self.assertEqual(self.attempt(THERE), ("timeout", "ETIMEDOUT"))
        finally:
            self.here.sysctl("net/ipv4/tcp_syn_retries", 6)
            self.here.sysctl("net/ipv4/tcp_syn_linear_timeouts", 4)

    def test_each_kind_of_reject(self):
        kinds = (
            ("reject with icmpx no-route", ("unreachable", "ENETUNREACH"),
             ("unreachable", "ENETUNREACH")),
            ("reject with icmpx host-unreachable", ("unreachable", "EHOSTUNREACH"),
             ("unreachable", "EHOSTUNREACH")),
            ("reject with icmpx admin-prohibited", ("unreachable", "EHOSTUNREACH"),
             ("not_permitted", "EACCES")),
            ("reject with icmpx port-unreachable", ("refused", "ECONNREFUSED"),
             ("refused", "ECONNREFUSED")),
            ("reject with tcp reset", ("refused", "ECONNREFUSED"),
             ("refused", "ECONNREFUSED")),
        )
        for kind, four, six in kinds:
            for hook, space in (("output", self.here), ("input", self.there)):
                with self.subTest(kind=kind, hook=hook), \
                        self.rules(space, hooked(hook, f"tcp dport {PORT} {kind}")):
                    self.assertEqual(self.attempt(THERE), four)
                    self.assertEqual(self.attempt(THERE6), six)

    def test_kinds_of_one_family(self):
        kinds = (
            ("icmp type net-unreachable", THERE, ("unreachable", "ENETUNREACH")),
            ("icmp type net-prohibited", THERE, ("unreachable", "ENETUNREACH")),
            ("icmp type host-prohibited", THERE, ("unreachable", "EHOSTUNREACH")),
            # ICMP's protocol-unreachable is an error of no denial's.
            ("icmp type prot-unreachable", THERE, ("probe_error", "ENOPROTOOPT")),
            ("icmpv6 type addr-unreachable", THERE6, ("unreachable", "EHOSTUNREACH")),
            ("icmpv6 type policy-fail", THERE6, ("not_permitted", "EACCES")),
            ("icmpv6 type reject-route", THERE6, ("not_permitted", "EACCES")),
        )
        for kind, address, outcome in kinds:
            with self.subTest(kind=kind), \
                    self.rules(self.here, hooked(
                        "output", f"tcp dport {PORT} reject with {kind}")):
                self.assertEqual(self.attempt(address), outcome)

    def test_a_local_reject_is_told_at_once(self):
        """Before the kernel sends a second time, which is after a second: so within
        far less than the time-out here, and not as its timeout."""
        for reject in ("admin-prohibited", "host-unreachable", "no-route"):
            with self.rules(self.here, hooked(
                    "output", f"tcp dport {PORT} reject with icmpx {reject}")):
                for address in (THERE, THERE6):
                    outcome, _ = self.attempt(address, timeout_ms=900)
                    self.assertIn(outcome, ("unreachable", "not_permitted"))

    def test_unreachable_without_a_route(self):
        self.assertEqual(self.attempt("192.0.2.1"), ("unreachable", "ENETUNREACH"))
        self.assertEqual(self.attempt("2001:db8::1"), ("unreachable", "ENETUNREACH"))

    def test_routes_that_deny(self):
        for kind, outcome in (("unreachable", ("unreachable", "EHOSTUNREACH")),
                              ("prohibit", ("not_permitted", "EACCES")),
                              ("throw", ("unreachable", "ENETUNREACH")),
                              # EINVAL says nothing of the way: not a denial.
                              ("blackhole", ("probe_error", "EINVAL"))):
            for address in ("198.51.100.1", "2001:db8:1::1"):
                with self.subTest(kind=kind, address=address):
                    self.here.ip("route", "add", kind, address)
                    try:
                        self.assertEqual(self.attempt(address), outcome)
                    finally:
                        self.here.ip("route", "delete", kind, address)

    def test_host_down(self):
        """Nobody answers for the address: EHOSTUNREACH once neighbour discovery gives
        up."""
        for family, address in (("ipv4", "10.11.0.77"), ("ipv6", "fd00:11::77")):
            for name, value in (("retrans_time_ms", 50), ("mcast_solicit", 2)):
                self.here.sysctl(f"net/{family}/neigh/{self.link}/{name}", value)
            self.assertEqual(self.attempt(address), ("unreachable", "EHOSTUNREACH"))

    def test_network_down(self):
        with netns.Namespace(loopback=False) as space, Agent(space) as agent:
            self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=PORT,
                                           timeout_ms=SLOW),
                             ("unreachable", "ENETUNREACH"))

    def test_ipv6_without_an_address_is_unreachable(self):
        with netns.Namespace(loopback=False) as space:
            space.ip("link", "add", "d0", "type", "veth", "peer", "name", "d1")
            for name in ("d0", "d1"):
                space.sysctl(f"net/ipv6/conf/{name}/addr_gen_mode", 1)
                space.ip("link", "set", name, "up")
            space.ip("route", "add", "2001:db8::/64", "dev", "d0")
            with Agent(space) as agent:
                self.assertEqual(agent.outcome("connect", address="2001:db8::1",
                                               port=PORT, timeout_ms=SLOW),
                                 ("unreachable", "EADDRNOTAVAIL"))

    def test_ipv6_switched_off_is_unreachable(self):
        with netns.Namespace() as space:
            space.sysctl("net/ipv6/conf/all/disable_ipv6", 1)
            with Agent(space) as agent:
                outcome, name = agent.outcome("connect", address="::1", port=PORT,
                                              timeout_ms=SLOW)
                self.assertEqual(outcome, "unreachable")
                self.assertIn(name, ("EADDRNOTAVAIL", "ENETUNREACH", "EACCES"))

    def test_reset_by_the_peer(self):
        """A peer that answers the SYN with an acknowledgement, then resets what was
        established."""
        with self.there.listen(THERE, PORT) as listener:
            answer = self.agent.ask("establish", address=THERE, port=PORT,
                                    timeout_ms=SLOW)
            peer, _ = listener.accept()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
        self.assertEqual(self.agent.outcome("check", connection=answer["connection"],
                                            timeout_ms=SLOW), ("reset", "ECONNRESET"))

    def test_backlog_full(self):
        """A full accept queue drops the SYN: a timeout, and connected once there is
        room."""
        with self.there.listen(THERE, PORT, backlog=0) as listener:
            # One waits to be accepted; the queue has room for no second.
            with self.here.socket() as filler:
                filler.connect((THERE, PORT))
                self.assertEqual(self.attempt(THERE, timeout_ms=300),
                                 ("timeout", "ETIMEDOUT"))
                self.agent.send(b'{"op":"connect","address":"%s","port":%d,'
                                b'"timeout_ms":%d}\n' % (THERE.encode(), PORT, SLOW))
                listener.accept()[0].close()
                self.assertEqual(self.agent.answer()["outcome"], "connected")

    def test_never_connected_to_itself(self):
        """A port of the ephemeral range where nobody listens: TCP may meet itself
        there, which is no connection to anybody."""
        with netns.Namespace() as space:
            # Two ports: every second attempt would pick its own destination.
            space.sysctl("net/ipv4/ip_local_port_range", "40000 40001")
            with Agent(space) as agent:
                answers = agent.ask_all([dict(op="connect", address="127.0.0.1",
                                              port=40000, timeout_ms=SLOW)] * 200)
        outcomes = {a["outcome"] for a in answers}
        self.assertIn("refused", outcomes)
        self.assertNotIn("connected", outcomes)


class ExhaustionTest(unittest.TestCase):
    """What is used up here is no denial there."""

    def test_local_ports(self):
        with netns.Namespace() as space:
            space.sysctl("net/ipv4/ip_local_port_range", "40000 40009")
            with space.listen("127.0.0.1", PORT), Agent(space) as agent:
                answers = agent.ask_all([dict(op="establish", address="127.0.0.1",
                                              port=PORT, timeout_ms=SLOW)] * 12)
            found = [(a["outcome"], a.get("errno")) for a in answers]
            self.assertEqual(found, [("connected", None)] * 10 +
                             [("probe_error", "EADDRNOTAVAIL")] * 2)

    def test_local_ports_for_a_handshake(self):
        with netns.Namespace() as space:
            space.sysctl("net/ipv4/ip_local_port_range", "40000 40001")
            with space.listen("127.0.0.1", PORT), Agent(space) as agent:
                agent.ask_all([dict(op="establish", address="127.0.0.1", port=PORT,
                                    timeout_ms=SLOW)] * 2)
                self.assertEqual(agent.outcome("handshake", address="127.0.0.1",
                                               port=PORT, timeout_ms=SLOW),
                                 ("probe_error", "EADDRNOTAVAIL"))

    def test_descriptors(self):
        with netns.Namespace() as space, space.listen("127.0.0.1", PORT), \
                Agent(space) as agent:
            agent.ask("hello")
            # Allowed numbers end where the agent's own descriptors do.
            highest = max(map(int, os.listdir(f"/proc/{agent.pid}/fd")))
            resource.prlimit(agent.pid, resource.RLIMIT_NOFILE,
                             (highest + 2, highest + 2))
            kept = agent.ask("establish", address="127.0.0.1", port=PORT,
                             timeout_ms=SLOW)
            self.assertEqual(kept["outcome"], "connected")
            where = dict(address="127.0.0.1", port=PORT)
            for op, fields in (
                    ("connect", dict(where, timeout_ms=SLOW)),
                    ("handshake", dict(where, timeout_ms=SLOW)),
                    ("establish", dict(where, timeout_ms=SLOW)),
                    ("listen", dict(where, port=PORT + 1)),
                    ("proxy_forward", dict(where, target="a.example:443",
                                           timeout_ms=SLOW)),
                    ("check", dict(connection=kept["connection"], timeout_ms=1000))):
                with self.subTest(op=op):
                    self.assertEqual(agent.outcome(op, **fields),
                                     ("probe_error", "EMFILE"))

    def test_handles(self):
        with netns.Namespace() as space, space.listen("127.0.0.1", PORT), \
                Agent(space) as agent:
            establish = dict(op="establish", address="127.0.0.1", port=PORT,
                             timeout_ms=SLOW)
            answers = agent.ask_all([establish] * 66)
            self.assertEqual([a["outcome"] for a in answers],
                             ["connected"] * 64 + ["probe_error"] * 2)
            self.assertNotIn("connection", answers[64])
            self.assertEqual(agent.outcome("listen", address="127.0.0.1", port=PORT + 1),
                             ("probe_error", "EMFILE"))
            self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=PORT,
                                           timeout_ms=SLOW), ("connected", None))

    def test_memory_of_a_listener(self):
        with netns.Namespace() as space, space.listen("127.0.0.1", PORT), \
                Agent(space) as agent:
            # Somebody has the port: a broken probe, whatever the policy is.
            self.assertEqual(agent.outcome("listen", address="127.0.0.1", port=PORT),
                             ("probe_error", "EADDRINUSE"))
            self.assertEqual(agent.outcome("listen", address="192.0.2.1", port=PORT),
                             ("probe_error", "EADDRNOTAVAIL"))
            # No capability is left, so neither is a privileged port.
            self.assertEqual(agent.outcome("listen", address="127.0.0.1", port=80),
                             ("probe_error", "EACCES"))


BPF_PROG_LOAD, BPF_PROG_ATTACH = 5, 8
BPF_PROG_TYPE_CGROUP_SOCK, BPF_PROG_TYPE_CGROUP_SOCK_ADDR = 9, 18
BPF_CGROUP_INET_SOCK_CREATE, BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT = 2, 10, 11
NR_BPF = 321  # x86-64; other machines skip


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(NR_BPF, command, buffer, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf: " + os.strerror(ctypes.get_errno()))
    return result


def deny_in_cgroup(group, program_type, attach_type):
    """Attaches "return 0" (denied) to a cgroup. It goes with the cgroup."""
    program = ctypes.create_string_buffer(
        bytes([0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0]))
    licence = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("=IIQQIIQII16sII", program_type, 2,
                             ctypes.addressof(program), ctypes.addressof(licence),
                             0, 0, 0, 0, 0, b"", 0, attach_type)
    loaded = bpf(BPF_PROG_LOAD, attributes)
    directory = os.open(group.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        bpf(BPF_PROG_ATTACH, struct.pack("=IIII", directory, loaded, attach_type, 0))
    finally:
        os.close(directory)
        os.close(loaded)


@unittest.skipUnless(os.uname().machine == "x86_64", "the bpf call's number is x86-64's")
class CgroupDenialTest(unittest.TestCase):
    def test_connect_denied(self):
        with netns.Cgroup() as group, netns.Namespace() as space:
            deny_in_cgroup(group, BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
                           BPF_CGROUP_INET4_CONNECT)
            deny_in_cgroup(group, BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
                           BPF_CGROUP_INET6_CONNECT)
            with space.listen("127.0.0.1", PORT), \
                    Agent(space, preexec_fn=group.add) as agent:
                for address in ("127.0.0.1", "::1"):
                    self.assertEqual(agent.outcome("connect", address=address, port=PORT,
                                                   timeout_ms=SLOW),
                                     ("not_permitted", "EPERM"))
                    self.assertEqual(agent.outcome("handshake", address=address,
                                                   port=PORT, timeout_ms=SLOW),
                                     ("handshake_failed", "EPERM"))

    def test_socket_denied(self):
        with netns.Cgroup() as group, netns.Namespace() as space:
            deny_in_cgroup(group, BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE)
            with Agent(space, preexec_fn=group.add) as agent:
                self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=PORT,
                                               timeout_ms=SLOW),
                                 ("not_permitted", "EPERM"))


class CheckTest(NetworkTest):
    def setUp(self):
        self.listener = self.there.listen(THERE, PORT)
        self.listener6 = self.there.listen(THERE6, PORT)
        self.addCleanup(self.listener.close)
        self.addCleanup(self.listener6.close)

    def establish(self, address=THERE):
        answer = self.agent.ask("establish", address=address, port=PORT, timeout_ms=SLOW)
        self.assertEqual(answer["outcome"], "connected")
        peer, _ = (self.listener6 if ":" in address else self.listener).accept()
        self.addCleanup(peer.close)
        return answer["connection"], peer

    def check(self, connection, timeout_ms=3000):
        return self.agent.outcome("check", connection=connection, timeout_ms=timeout_ms)

    def test_idle_flow_is_connected_and_stays_so(self):
        for address in (THERE, THERE6):
            connection, peer = self.establish(address)
            for _ in range(2):
                self.assertEqual(self.check(connection, 1500), ("connected", None))
            peer.setblocking(False)
            with self.assertRaises(BlockingIOError):
                peer.recv(1)

    def test_closed_by_the_peer(self):
        connection, peer = self.establish()
        peer.close()
        self.assertEqual(self.check(connection), ("closed", None))
        # Ended is ended, however often one asks.
        self.assertEqual(self.check(connection), ("closed", None))

    def test_data_is_connected(self):
        connection, peer = self.establish()
        self.agent.send(b'{"op":"check","connection":"%s","timeout_ms":%d}\n'
                        % (connection.encode(), SLOW))
        # Only when the agent waits is what comes new: its keepalive is armed then.
        wait_for_keepalive(self.here, THERE)
        peer.sendall(b"x")
        self.assertEqual(self.agent.answer()["outcome"], "connected")

    def test_peer_that_talks_without_end_is_connected(self):
        connection, peer = self.establish()
        stop = threading.Event()

        def talk():
            with contextlib.suppress(OSError):
                while not stop.is_set():
                    peer.sendall(b"x" * 65536)

        talker = threading.Thread(target=talk)
        talker.start()
        try:
            self.assertEqual(self.check(connection, SLOW), ("connected", None))
        finally:
            stop.set()
            peer.shutdown(socket.SHUT_RDWR)
            talker.join()

    def test_cut_by_a_rule_loaded_later(self):
        """Four ways to cut a flow, both families, all checked at the same time."""
        cuts = (
            (self.here, "output", "tcp dport {} drop"),
            (self.there, "input", "tcp dport {} drop"),
            (self.there, "output", "tcp sport {} drop"),
            (self.here, "output", "tcp dport {} reject with icmpx admin-prohibited"),
        )
        connections, described, rules = [], [], contextlib.ExitStack()
        for number, (space, hook, rule) in enumerate(cuts):
            for address in (THERE, THERE6):
                port = PORT + 1 + number
                listener = self.there.listen(address, port)
                self.addCleanup(listener.close)
                connections.append(self.agent.ask(
                    "establish", address=address, port=port,
                    timeout_ms=SLOW)["connection"])
                described.append(f"{rule} {address}")
        with rules:
            for space in (self.here, self.there):
                text = "".join(
                    f"chain c{number} {{ type filter hook {hook} priority 0; "
                    f"{rule.format(PORT + 1 + number)}; }}; "
                    for number, (where, hook, rule) in enumerate(cuts) if where is space)
                rules.enter_context(self.rules(space, f"table inet t {{ {text} }}"))
            answers = self.agent.ask_all([dict(op="check", connection=c, timeout_ms=3000)
                                          for c in connections])
        for what, answer in zip(described, answers):
            with self.subTest(what):
                self.assertIn(answer["outcome"],
                              ("timeout", "unreachable", "not_permitted"))
                self.assertIn("errno", answer)

    def test_reset_by_a_rule_loaded_later(self):
        connection, _ = self.establish()
        with self.rules(self.there, hooked(
                "input", f"tcp dport {PORT} reject with tcp reset")):
            self.assertEqual(self.check(connection), ("reset", "ECONNRESET"))

    def test_greeting_from_before_the_cut_does_not_count(self):
        connection, peer = self.establish()
        peer.sendall(b"220 welcome\r\n")
        with self.rules(self.there, hooked("input", f"tcp dport {PORT} drop")):
            self.assertEqual(self.check(connection)[0], "timeout")

    def test_data_that_is_sent_again_is_no_sign_of_life(self):
        """A peer that spoke after the cut repeats itself until it gives up: that tells nothing."""
        cuts = ("drop", "reject with icmpx admin-prohibited")
        connections, peers = [], []
        for number, address in itertools.product(range(len(cuts)), (THERE, THERE6)):
            listener = self.there.listen(address, PORT + 1 + number)
            self.addCleanup(listener.close)
            connections.append(self.agent.ask("establish", address=address,
                                              port=PORT + 1 + number,
                                              timeout_ms=SLOW)["connection"])
            peer, _ = listener.accept()
            self.addCleanup(peer.close)
            peers.append(peer)
        rules = "; ".join(f"tcp dport {PORT + 1 + i} {cut}" for i, cut in enumerate(cuts))
        with self.rules(self.here, hooked("output", rules)):
            for peer in peers:
                peer.sendall(b"x")
            for number in range(len(cuts)):
                wait_for_arrival(self.here, PORT + 1 + number, 2)
            # As long as it takes for the peer to have spoken again in the middle.
            answers = self.agent.ask_all([dict(op="check", connection=c, timeout_ms=5000)
                                          for c in connections])
        for answer in answers:
            self.assertIn(answer["outcome"], ("timeout", "unreachable", "not_permitted"))

    def test_the_peers_own_keepalive_is_no_sign_of_life(self):
        """A peer that asks whether we are there has had no answer of ours."""
        connection, peer = self.establish()
        with self.rules(self.here,
                        f"table inet t {{ chain c {{ type filter hook output priority 0; "
                        f"tcp dport {PORT} drop; }}; chain d {{ type filter hook input "
                        f"priority 0; tcp sport {PORT} counter; }}; }}"):
            for option, value in ((socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPIDLE, 1)):
                peer.setsockopt(socket.IPPROTO_TCP, option, value)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self.assertEqual(self.check(connection, 5000)[0], "timeout")
            self.assertNotIn(b"counter packets 0 ", self.here.run(
                [netns.NFT, "list", "ruleset"]).stdout)

    def test_one_lost_probe_is_not_the_end(self):
        """A flow that has been idle for longer than the check lasts, of whose keepalive
        probes the first is lost: alive."""
        connection, _ = self.establish()
        with self.rules(self.there,
                        "table inet t { chain c { type filter hook input priority 0; "
                        f"tcp dport {PORT} limit rate over 1/day burst 1 packets accept; "
                        f"tcp dport {PORT} counter drop; tcp dport 9 drop; }}; }}"):
            # What lets it idle: an attempt that takes its time.
            self.attempt(THERE, port=9, timeout_ms=2500)
            self.assertEqual(self.check(connection, 3000), ("connected", None))
            self.assertIn(b"counter packets 1 ", self.there.run(
                [netns.NFT, "list", "ruleset"]).stdout)

    def test_a_dead_wire_is_no_sign_of_life(self):
        """A probe that is lost on this side already is one that nobody answers."""
        with netns.Namespace() as away:
            link = netns.connect_pair(self.here, "10.12.0.1/24", away, "10.12.0.2/24")
            with away.listen("10.12.0.2", PORT):
                connection = self.agent.ask("establish", address="10.12.0.2", port=PORT,
                                            timeout_ms=SLOW)["connection"]
                self.assertEqual(self.check(connection), ("connected", None))
                away.ip("link", "set", link, "down")
                self.assertEqual(self.check(connection), ("timeout", "ETIMEDOUT"))

    def test_a_full_queue_is_no_sign_of_life(self):
        """Of probes that this side's own queue has no room for the kernel keeps no count:
        to it such a flow is idle and well."""
        with netns.Namespace() as away:
            link = netns.connect_pair(self.here, "10.13.0.1/24", away, "10.13.0.2/24")
            with away.listen("10.13.0.2", PORT):
                connection = self.agent.ask("establish", address="10.13.0.2", port=PORT,
                                            timeout_ms=SLOW)["connection"]
                self.here.run([TC, "qdisc", "add", "dev", link, "root", "pfifo", "limit", "0"])
                self.assertEqual(self.check(connection), ("timeout", "ETIMEDOUT"))

    def test_keepalive_is_silent_between_checks(self):
        connection, _ = self.establish()
        self.check(connection, 1200)
        self.assertNotIn(b"keepalive", socket_timers(self.here, THERE))


def socket_timers(namespace, peer):
    return namespace.run(["/usr/bin/ss", "-tnoH", "dst", peer]).stdout


def wait_for_keepalive(namespace, peer):
    while b"keepalive" not in socket_timers(namespace, peer):
        pass


def wait_for_arrival(namespace, port, flows):
    """Until so many flows to that port hold data that nobody has read."""
    while [line.split()[0] for line in namespace.run(
            ["/usr/bin/ss", "-tnH", "state", "established", "dport", f"= :{port}"]
            ).stdout.splitlines()].count(b"1") < flows:
        pass


class AcceptTest(NetworkTest):
    def test_accept(self):
        listener = self.agent.ask("listen", address=HERE, port=PORT)
        self.assertEqual(set(listener), {"schema", "op", "listener"})
        self.agent.send(b'{"op":"accept","listener":"%s","timeout_ms":%d}\n'
                        % (listener["listener"].encode(), SLOW))
        peer = self.there.socket()
        peer.connect((HERE, PORT))
        answer = self.agent.answer()
        self.assertEqual((answer["outcome"], answer["remote_address"]),
                         ("accepted", THERE))
        self.assertEqual(self.agent.outcome("check", connection=answer["connection"],
                                            timeout_ms=100), ("connected", None))
        peer.close()
        self.assertEqual(self.agent.outcome("check", connection=answer["connection"],
                                            timeout_ms=SLOW), ("closed", None))
        self.assertEqual(self.agent.outcome("accept", listener=listener["listener"],
                                            timeout_ms=50), ("timeout", "ETIMEDOUT"))

    def test_accepts_of_one_listener_are_served_in_their_order(self):
        listener = self.agent.ask("listen", address=HERE, port=PORT + 1)["listener"]
        self.agent.send(b'{"op":"accept","listener":"%s","timeout_ms":%d}\n'
                        % (listener.encode(), SLOW) * 8)
        # All wait before the first connection: the kernel then wakes the last first.
        wait_until_blocked(self.agent)
        peers = []
        for _ in range(8):
            peer = self.there.socket()
            peer.connect((HERE, PORT + 1))
            peers.append(peer)
        answers = [self.agent.answer() for _ in range(8)]
        self.assertEqual([a["outcome"] for a in answers], ["accepted"] * 8)
        # The first handle is the first connection.
        peers[0].close()
        self.assertEqual(self.agent.outcome(
            "check", connection=answers[0]["connection"], timeout_ms=SLOW)[0], "closed")
        for peer in peers[1:]:
            peer.close()


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
