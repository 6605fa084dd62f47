#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What resolvers and proxies answer, and what the agent makes of it."""
import contextlib
import os
import socket
import struct
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Agent, netns  # noqa: E402

SLOW = 60000
PROXY_PORT = 3128
TARGET = "www.example.com:443"
WANTED = (b"CONNECT www.example.com:443 HTTP/1.1\r\n"
          b"Host: www.example.com:443\r\n\r\n")


class Thread(threading.Thread):
    """A thread whose exception reaches join()."""

    def __init__(self, function):
        super().__init__()
        self.function, self.error = function, None
        self.start()

    def run(self):
        try:
            self.function()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error

    def join(self, timeout=None):
        super().join(timeout)
        if self.error:
            raise self.error


class ProxyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.space = stack.enter_context(netns.Namespace())
        cls.agent = stack.enter_context(Agent(cls.space))
        cls.listener = stack.enter_context(cls.space.listen("127.0.0.1", PROXY_PORT))

    def forward(self, pieces, timeout_ms=SLOW, linger=False, hold=False):
        """One proxy_forward against a proxy that sends `pieces`, then closes (with a
        reset, for `linger`), or holds the connection until the agent has answered."""
        answered = threading.Event()
        received = []

        def serve():
            peer, _ = self.listener.accept()
            with peer:
                while not b"".join(received).endswith(b"\r\n\r\n"):
                    got = peer.recv(4096)
                    if not got:
                        break
                    received.append(got)
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    for piece in pieces:
                        peer.sendall(piece)
                if hold:
                    answered.wait()
                if linger:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                    struct.pack("ii", 1, 0))

        thread = Thread(serve)
        try:
            found = self.agent.outcome("proxy_forward", address="127.0.0.1",
                                       port=PROXY_PORT, target=TARGET,
                                       timeout_ms=timeout_ms)
        finally:
            answered.set()
            thread.join()
        self.assertEqual(b"".join(received), WANTED)
        return found

    def test_statuses(self):
        for status, outcome in ((200, "proxy_forwarded"), (204, "proxy_forwarded"),
                                (299, "proxy_forwarded"), (403, "proxy_refused"),
                                (405, "proxy_refused"), (407, "proxy_refused"),
                                (100, "probe_error"), (301, "probe_error"),
                                (400, "probe_error"), (401, "probe_error"),
                                (404, "probe_error"), (500, "probe_error"),
                                (502, "probe_error"), (503, "probe_error")):
            with self.subTest(status=status):
                line = b"HTTP/1.1 %d Whatever It Says\r\n" % status
                self.assertEqual(self.forward([line]), (outcome, None))

    def test_forms_of_a_status_line(self):
        for line, outcome in (
                (b"HTTP/1.0 403 no\n", "proxy_refused"),
                (b"HTTP/1.1 403\r\n", "proxy_refused"),
                (b"HTTP/1.1 200 " + b"x" * 900 + b"\r\n", "proxy_forwarded"),
                (b"HTTP/2 200\r\n", "probe_error"),
                (b"HTTP/1.1  200 OK\r\n", "probe_error"),
                (b"HTTP/1.1 2000 OK\r\n", "probe_error"),
                (b"HTTP/1.1 20x OK\r\n", "probe_error"),
                (b"http/1.1 200 OK\r\n", "probe_error"),
                (b" HTTP/1.1 200 OK\r\n", "probe_error"),
                (b"\r\n", "probe_error"),
                (b"\n", "probe_error"),
                (b"SSH-2.0-OpenSSH_9.2\r\n", "probe_error"),
                (b"\x15\x03\x01\x00\x02\x02\x50\n", "probe_error"),
                (b"\x00" * 64 + b"\n", "probe_error")):
            with self.subTest(line=line):
                self.assertEqual(self.forward([line]), (outcome, None))

    def test_end_of_file_before_a_whole_line(self):
        for pieces in ([], [b"HTTP/1.1 403 Forbi"], [b"HTTP/1.1 200 OK\r"]):
            with self.subTest(pieces=pieces):
                self.assertEqual(self.forward(pieces), ("closed", None))

    def test_nothing_until_the_deadline_is_no_refusal(self):
        for pieces in ([], [b"HTTP/1.1 403 Forbidden"]):
            self.assertEqual(self.forward(pieces, timeout_ms=200, hold=True),
                             ("probe_error", "ETIMEDOUT"))

    def test_reset_after_the_request_is_no_refusal(self):
        self.assertEqual(self.forward([], linger=True), ("probe_error", "ECONNRESET"))

    def test_slowly_is_still_an_answer(self):
        pieces = [bytes([byte]) for byte in b"HTTP/1.1 403 Forbidden\r\n"]
        self.assertEqual(self.forward(pieces, hold=True), ("proxy_refused", None))

    def test_over_long(self):
        self.assertEqual(self.forward([b"HTTP/1.1 200 " + b"x" * 5000], hold=True),
                         ("probe_error", None))
        self.assertEqual(self.forward([b"x" * (1 << 20)]), ("probe_error", None))

    def test_what_follows_the_status_line_does_not_matter(self):
        self.assertEqual(self.forward([b"HTTP/1.1 407 Authenticate\r\nX: y\r\n\r\n",
                                       b"\x00" * 100000]), ("proxy_refused", None))

    def test_proxy_that_cannot_be_reached(self):
        where = dict(address="127.0.0.1", port=PROXY_PORT + 1, target=TARGET)
        self.assertEqual(self.agent.outcome("proxy_forward", timeout_ms=SLOW, **where),
                         ("refused", "ECONNREFUSED"))
        self.space.nft("table inet t { chain c { type filter hook output priority 0; "
                       f"tcp dport {PROXY_PORT + 1} drop; }}; }}")
        self.assertEqual(self.agent.outcome("proxy_forward", timeout_ms=150, **where),
                         ("timeout", "ETIMEDOUT"))
        self.space.nft("flush ruleset")


NAME = "www.example.com"
QUESTION = b"\x03www\x07example\x03com\x00\x00\x01\x00\x01"
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = range(6)


def reply(asked, rcode=NOERROR, flags=0x8180, question=QUESTION, count=1, records=b"",
          record_count=0, ident=None):
    ident = asked[:2] if ident is None else ident
    return (ident + struct.pack("!HHHHH", flags | rcode, count, record_count, 0, 0) +
            question + records)


A_RECORD = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc0\x00\x02\x01"


class Resolver:
    """A DNS server on 127.0.0.53 of a namespace that answers as it is told."""

    def __init__(self, space):
        self.socket = space.socket(kind=socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.53", 53))

    def serve(self, function):
        asked, address = self.socket.recvfrom(4096)
        for answer in function(asked):
            self.socket.sendto(answer, address)
        return asked


class DnsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.space = cls.stack.enter_context(netns.Namespace())
        cls.resolver = Resolver(cls.space)
        cls.stack.callback(cls.resolver.socket.close)
        cls.agent = cls.stack.enter_context(cls.agent_with(
            "# nameserver 127.0.0.9\n\nsearch example\nnameserver ::1\n"
            "nameserver\t 127.0.0.53 \nnameserver 127.0.0.54\n"))

    @classmethod
    @contextlib.contextmanager
    def agent_with(cls, resolv_conf):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(resolv_conf)
            file.flush()
            with Agent(cls.space, preexec_fn=lambda: netns.mount_over(
                    file.name, "/etc/resolv.conf")) as agent:
                yield agent

    def ask(self, function, timeout_ms=SLOW):
        asked = []
        thread = Thread(lambda: asked.append(self.resolver.serve(function)))
        found = self.agent.outcome("dns", target=NAME, timeout_ms=timeout_ms)
        thread.join()
        return found, asked[0]

    def test_the_question(self):
        _, asked = self.ask(lambda asked: [reply(asked)])
        self.assertEqual(asked[2:], b"\x01\x00" b"\x00\x01" b"\x00\x00" b"\x00\x00"
                         b"\x00\x00" + QUESTION)

    def test_ids_differ(self):
        ids = {self.ask(lambda asked: [reply(asked)])[1][:2] for _ in range(8)}
        self.assertGreater(len(ids), 1)

    def test_answers(self):
        for what, outcome in (
                (dict(records=A_RECORD, record_count=1), "connected"),
                (dict(), "connected"),                      # NODATA
                (dict(rcode=NXDOMAIN), "connected"),
                (dict(flags=0x8380), "connected"),          # truncated
                (dict(flags=0x8000), "connected"),          # no recursion
                (dict(question=QUESTION.replace(b"example", b"eXAMPle")), "connected"),
                (dict(records=b"\xff" * 200, record_count=3), "connected"),
                (dict(rcode=SERVFAIL), "refused"),
                (dict(rcode=REFUSED), "refused"),
                (dict(rcode=REFUSED, flags=0x8380), "refused"),
                (dict(rcode=FORMERR), "probe_error"),
                (dict(rcode=NOTIMP), "probe_error"),
                (dict(rcode=9), "probe_error")):
            with self.subTest(**what):
                found, _ = self.ask(lambda asked, w=what: [reply(asked, **w)])
                self.assertEqual(found, (outcome, None))

    STRAYS = {
        "wrong id": lambda asked: reply(asked, ident=bytes([asked[0] ^ 1, asked[1]])),
        "wrong name": lambda asked: reply(
            asked, question=QUESTION.replace(b"www", b"wwx")),
        "wrong type": lambda asked: reply(
            asked, question=QUESTION[:-4] + b"\x00\x1c\x00\x01"),
        "wrong class": lambda asked: reply(
            asked, question=QUESTION[:-4] + b"\x00\x01\x00\x03"),
        "no question": lambda asked: reply(asked, question=b"", count=0),
        "two questions": lambda asked: reply(asked, count=2),
        "a question": lambda asked: asked,
        "another opcode": lambda asked: reply(asked, flags=0xa980),
        "cut": lambda asked: reply(asked)[:-1],
        "garbage": lambda asked: b"\x80" * 300,
        "one byte": lambda asked: b"x",
        "nothing": lambda asked: b"",
    }

    def test_strays_are_no_answer_and_no_denial(self):
        """The server spoke, so a time-out would be a lie, and so would a channel."""
        for what, make in self.STRAYS.items():
            with self.subTest(what):
                found, _ = self.ask(lambda asked, m=make: [m(asked)], timeout_ms=150)
                self.assertEqual(found, ("probe_error", "ETIMEDOUT"))

    def test_the_answer_after_strays_counts(self):
        found, _ = self.ask(lambda asked: [make(asked) for make in
                                           self.STRAYS.values()] + [reply(asked)])
        self.assertEqual(found, ("connected", None))

    def test_answer_from_elsewhere_does_not_count(self):
        with self.space.socket(kind=socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.54", 53))

            def answer():
                asked, address = self.resolver.socket.recvfrom(4096)
                other.sendto(reply(asked), address)

            thread = Thread(answer)
            self.assertEqual(self.agent.outcome("dns", target=NAME, timeout_ms=150),
                             ("timeout", "ETIMEDOUT"))
            thread.join()

    def test_denials(self):
        for rule, outcome in (
                ("drop", ("not_permitted", "EPERM")),
                ("reject with icmpx port-unreachable", ("refused", "ECONNREFUSED")),
                ("reject with icmpx host-unreachable", ("unreachable", "EHOSTUNREACH")),
                ("reject with icmpx admin-prohibited", ("unreachable", "EHOSTUNREACH"))):
            with self.subTest(rule=rule):
                self.space.nft("table inet t { chain c { type filter hook output "
                               f"priority 0; udp dport 53 {rule}; }}; }}")
                try:
                    outcome_found = self.agent.outcome("dns", target=NAME,
                                                       timeout_ms=SLOW)
                finally:
                    self.space.nft("flush ruleset")
                # A reject's packet is dropped too: EPERM from sendto() is as true.
                self.assertIn(outcome_found, (outcome, ("not_permitted", "EPERM")))
        with self.subTest("dropped on the way in"):
            self.space.nft("table inet t { chain c { type filter hook input priority 0; "
                           "udp dport 53 drop; }; }")
            self.assertEqual(self.agent.outcome("dns", target=NAME, timeout_ms=150),
                             ("timeout", "ETIMEDOUT"))
            self.space.nft("flush ruleset")

    def test_nobody_to_ask(self):
        for text in ("", "nameserver ::1\n", "nameserver 1.2.3\n", "nameserver\n",
                     "nameserverx 127.0.0.53\n", " nameserver 127.0.0.53\n",
                     "#nameserver 127.0.0.53", "nameserver 127.0.0.53.9\n"):
            with self.subTest(text=text), self.agent_with(text) as agent:
                self.assertEqual(agent.outcome("dns", target=NAME, timeout_ms=SLOW),
                                 ("probe_error", "ENOENT"))

    def test_resolver_without_a_route(self):
        with self.agent_with("nameserver 192.0.2.1") as agent:
            self.assertEqual(agent.outcome("dns", target=NAME, timeout_ms=SLOW),
                             ("unreachable", "ENETUNREACH"))


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
