#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's protocol: order, limits, refusals, and clients that mean no good."""
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402
from client import Agent, netns, request, serve_once, wait_until_blocked  # noqa: E402


class SessionTest(unittest.TestCase):
    def test_hello_tells_who_and_which_program(self):
        with Agent() as agent:
            answer = agent.ask("hello")
            with open(client.PROBE, "rb") as program:
                digest = hashlib.sha256(program.read()).hexdigest()
            self.assertEqual(answer, {
                "schema": "netproof.agent.v1", "op": "hello", "pid": agent.pid,
                "uid": os.getuid(), "gid": os.getgid(), "probe_runner_sha256": digest,
                "sandbox": client.SANDBOX})

    def test_exit_ends_with_status_0(self):
        answers, error, status = serve_once(request("hello") + request("exit") +
                                            request("hello"))
        self.assertEqual([a["op"] for a in answers], ["hello", "exit"])
        self.assertEqual((error, status), ("", 0))

    def test_connect_reaches_a_listener_and_nothing_else(self):
        with netns.Namespace() as space, Agent(space) as agent:
            with space.listen("127.0.0.1") as listener:
                port = listener.getsockname()[1]
                self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=port,
                                               timeout_ms=5000), ("connected", None))
            self.assertEqual(agent.outcome("connect", address="127.0.0.1", port=port,
                                           timeout_ms=5000), ("refused", "ECONNREFUSED"))


class PipelineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = netns.Namespace()
        cls.addClassCleanup(cls.space.close)
        cls.space.nft("table inet t { chain c { type filter hook output priority 0; "
                      "tcp dport 9 drop; }; }")

    def test_answers_keep_the_order_of_requests(self):
        """Slow denials before quick ones: the quick wait their turn, in their order."""
        requests = []
        for number in range(60):
            slow = number % 3 == 0
            requests.append(dict(op="connect", address=f"127.0.1.{number + 1}",
                                 port=9 if slow else 10,
                                 timeout_ms=300 - 4 * number if slow else 5000))
        with Agent(self.space) as agent:
            answers = agent.ask_all(requests)
        self.assertEqual([a["outcome"] for a in answers],
                         ["timeout", "refused", "refused"] * 20)

    def test_slow_denials_cost_one_timeout(self):
        """All 64 are under way at once: when the first is answered, every other has
        been waiting as long, so none has more than the one time-out to wait."""
        with Agent(self.space) as agent:
            answers = agent.ask_all([dict(op="connect", address="127.0.0.1", port=9,
                                          timeout_ms=400)] * 64)
        self.assertEqual({a["outcome"] for a in answers}, {"timeout"})
        self.assertLess(sum(a["elapsed_us"] for a in answers), 64 * 2 * 400000)

    def test_at_64_in_flight_it_stops_reading(self):
        """The 65th is not started before the first is answered."""
        with self.space.listen("127.0.0.1", 4141) as listener, Agent(self.space) as agent:
            listener.setblocking(False)
            slow = request("connect", address="127.0.0.1", port=9, timeout_ms=800)
            quick = request("connect", address="127.0.0.1", port=4141, timeout_ms=5000)
            agent.send(slow + quick * 63 + quick * 5)
            # All that is started connects at once; the first answer is still to come.
            accepted = 0
            while accepted < 63:
                select.select([listener], [], [])
                listener.accept()[0].close()
                accepted += 1
            self.assertEqual(select.select([listener, agent.process.stdout], [], [],
                                           0.2), ([], [], []))
            answers = [agent.answer() for _ in range(69)]
            self.assertEqual([a["outcome"] for a in answers],
                             ["timeout"] + ["connected"] * 68)
            for _ in range(5):
                select.select([listener], [], [])
                listener.accept()[0].close()

    def test_exit_waits_for_the_earlier_answers(self):
        answers, error, status = serve_once(
            request("connect", address="127.0.0.1", port=9, timeout_ms=200) +
            request("exit"), self.space)
        self.assertEqual([a.get("outcome", a["op"]) for a in answers],
                         ["timeout", "exit"])
        self.assertEqual((error, status), ("", 0))

    def test_refusal_waits_for_the_earlier_answers_and_is_the_last(self):
        answers, error, status = serve_once(
            request("connect", address="127.0.0.1", port=9, timeout_ms=200) +
            b"{}\n" + request("hello"), self.space)
        self.assertEqual(len(answers), 2)
        self.assertEqual(answers[0]["outcome"], "timeout")
        self.assertEqual(answers[1], {"schema": "netproof.agent.v1",
                                      "error": "request: op: missing"})
        self.assertEqual((error, status),
                         ("net-probe: refused: request: op: missing\n", 1))


def attempt(**changes):
    fields = dict(op="connect", address="127.0.0.1", port=9, timeout_ms=1000)
    fields.update(changes)
    return json.dumps({k: v for k, v in fields.items() if v is not None}).encode()


class RefusalTest(unittest.TestCase):
    """One answer with an error that says what is wrong, and the end."""

    CASES = (
        (b"", "not strict JSON"),
        (b"hello", "not strict JSON"),
        (b"[]", "not an object"),
        (b'"hello"', "not strict JSON"),
        (b"{}", "op: missing"),
        (b'{"op":1}', "op: not an op"),
        (b'{"op":null}', "op: not an op"),
        (b'{"op":"Hello"}', "op: not an op"),
        (b'{"op":"resource"}', "op: not an op"),
        (b'{"op":"hello","op":"hello"}', "not strict JSON"),
        (b'{"op":"hello","x":1}', "x: unknown key"),
        (b'{"op":"hello","Op":"hello"}', "Op: unknown key"),
        (b'{"op":"hello"} x', "not strict JSON"),
        (b'{"op":"hello"}{"op":"hello"}', "not strict JSON"),
        (b'{"op":"hel\0lo"}', "not strict JSON"),
        (b'{"op":"hello"}\0', "not strict JSON"),
        (b'\xef\xbb\xbf{"op":"hello"}', "byte order mark"),
        (b'{"op":"hello\\u0000"}', "not strict JSON"),
        (b'{"op":"\\ud800"}', "not strict JSON"),
        (b'{"op":"\xff"}', "not strict JSON"),
        (b'{"op":"hello","a":' + b"[" * 20 + b"]" * 20 + b"}", "deeper than 16"),
        (attempt(port=0), "port: not from 1 to 65535"),
        (attempt(port=65536), "port: not from 1 to 65535"),
        (attempt(port=-1), "port: not from 1 to 65535"),
        (attempt(port="9"), "port: not an integer"),
        (attempt(port=9.5), "not strict JSON"),
        (attempt(port=True), "port: not an integer"),
        (attempt(port=None), "port: missing"),
        (attempt(port=2 ** 53), "2^53"),
        (attempt(port=2 ** 70), "not strict JSON"),
        (attempt(timeout_ms=0), "timeout_ms: not from 1 to 120000"),
        (attempt(timeout_ms=120001), "timeout_ms: not from 1 to 120000"),
        (attempt(address="127.0.0.01"), "address: not a canonical"),
        (attempt(address="localhost"), "address: not a canonical"),
        (attempt(address="::0001"), "address: not a canonical"),
        (attempt(address="FD00::1"), "address: not a canonical"),
        (attempt(address="fe80::1%eth0"), "address: not a canonical"),
        (attempt(address=""), "address: not a canonical"),
        (attempt(address=["127.0.0.1"]), "address: not a string"),
        (attempt(address="1" * 2000), "address: not a canonical"),
        (attempt(target="a.example:443"), "target: unknown key"),
        (attempt(op="listen", timeout_ms=None, address="::1"), "address: not a canonical"),
        (attempt(op="proxy_forward", target="example:443"), "target: not a lower-case"),
        (attempt(op="proxy_forward", target="a.example"), "target: not a lower-case"),
        (attempt(op="proxy_forward", target="a.example:0"), "target: not a lower-case"),
        (attempt(op="proxy_forward", target="a.example:080"), "target: not a lower-case"),
        (attempt(op="proxy_forward", target="a.example:80\r\nX: y"),
         "target: not a lower-case"),
        (b'{"op":"dns","target":"example","timeout_ms":1}', "target: not a lower-case"),
        (b'{"op":"dns","target":"A.example","timeout_ms":1}', "target: not a lower-case"),
        (b'{"op":"dns","target":"192.0.2.1","timeout_ms":1}', "target: not a lower-case"),
        (b'{"op":"check","connection":"c1","timeout_ms":1}', "c1 is no open handle"),
        (b'{"op":"check","connection":"l1","timeout_ms":1}', "not a connection handle"),
        (b'{"op":"check","connection":"c01","timeout_ms":1}', "not a connection handle"),
        (b'{"op":"check","connection":"c0","timeout_ms":1}', "not a connection handle"),
        (b'{"op":"check","connection":"c65537","timeout_ms":1}',
         "not a connection handle"),
        (b'{"op":"accept","listener":"l7","timeout_ms":1}', "l7 is no open handle"),
        (b'{"op":"adopt","expires_at_unix":0}', "not from 1"),
        (b'{"op":"adopt","expires_at_unix":1}', "for the Unix socket"),
        (b"x" * 4096, "not strict JSON"),
        (b"x" * 4097, "longer than 4096 bytes"),
    )

    def test_each(self):
        for line, wanted in self.CASES:
            with self.subTest(line=line[:100]):
                answers, error, status = serve_once(line + b"\n" + request("hello"))
                self.assertEqual(len(answers), 1, answers)
                self.assertIn(wanted, answers[0]["error"])
                self.assertEqual(error, f"net-probe: refused: {answers[0]['error']}\n")
                self.assertEqual(status, 1)

    def test_longest_line_is_served(self):
        line = b'{"op":"hello"}'
        answers, error, status = serve_once(line + b" " * (4096 - len(line)) + b"\n")
        self.assertEqual([a["op"] for a in answers], ["hello"])
        self.assertEqual((error, status), ("", 0))

    def test_a_check_at_a_time(self):
        with netns.Namespace() as space, space.listen("127.0.0.1", 4141), \
                Agent(space) as agent:
            agent.ask("establish", address="127.0.0.1", port=4141, timeout_ms=5000)
            check = request("check", connection="c1", timeout_ms=100)
            agent.send(check * 2)
            self.assertEqual(agent.answer()["outcome"], "connected")
            self.assertIn("a check of c1 has not ended", agent.answer()["error"])

    def test_65536_requests(self):
        count = 65536
        answers, error, status = serve_once(b'{"op":"hello"}\n' * (count + 2))
        self.assertEqual(len(answers), count + 1)
        self.assertEqual({a["op"] for a in answers[:-1]}, {"hello"})
        self.assertIn("more than 65536", answers[-1]["error"])
        self.assertEqual(status, 1)


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


class HostileClientTest(unittest.TestCase):
    def test_half_a_line(self):
        answers, error, status = serve_once(request("hello") + b'{"op":"hel')
        self.assertEqual([a.get("op") for a in answers], ["hello", None])
        self.assertIn("the input ends within a line", answers[1]["error"])
        self.assertEqual(status, 1)

    def test_no_line_at_all(self):
        self.assertEqual(serve_once(b""), ([], "", 0))

    def test_over_long_line_is_answered_before_it_ends(self):
        with Agent() as agent:
            agent.send(b"{" * 4097)
            self.assertIn("longer than 4096", agent.answer()["error"])
            self.assertEqual(agent.process.wait(), 1)

    def test_a_line_without_end(self):
        with Agent() as agent:
            with self.assertRaises(BrokenPipeError):
                while True:
                    agent.send(b"x" * 65536)
            self.assertIn("longer than 4096", agent.answer()["error"])
            self.assertEqual(agent.process.wait(), 1)

    def test_10000_lines_at_once(self):
        answers, error, status = serve_once(request("hello") * 10000)
        self.assertEqual(len(answers), 10000)
        self.assertEqual((error, status), ("", 0))

    def test_a_client_that_never_reads(self):
        """It fills the pipes and no more: memory stays where it was, and the client
        cannot write any more."""
        with Agent() as agent:
            agent.ask("hello")
            before = peak_kib(agent.pid)
            os.set_blocking(agent.process.stdin.fileno(), False)
            line, written = request("hello") * 64, 0
            while True:
                try:
                    written += os.write(agent.process.stdin.fileno(), line)
                except BlockingIOError:
                    wait_until_blocked(agent)
                    try:
                        written += os.write(agent.process.stdin.fileno(), line)
                    except BlockingIOError:
                        break
            # Two pipes of 64 KiB, its buffers and 64 requests; not the client's all.
            self.assertLess(written, 400000)
            # AddressSanitizer keeps what was freed for a while.
            self.assertLess(peak_kib(agent.pid) - before,
                            65536 if client.SANITIZED else 512)
            # It is not broken: once read from, it serves on.
            os.set_blocking(agent.process.stdin.fileno(), True)
            agent.process.stdin.close()
            lines = agent.process.stdout.read().count(b"\n")
            self.assertGreaterEqual(lines, written // len(request("hello")))

    def test_a_client_that_reads_a_byte_at_a_time(self):
        with Agent() as agent:
            agent.send(request("hello") * 100)
            agent.process.stdin.close()
            out = b""
            while byte := os.read(agent.process.stdout.fileno(), 1):
                out += byte
            self.assertEqual(out.count(b"\n"), 100)

    def test_a_client_that_writes_a_byte_at_a_time(self):
        with Agent() as agent:
            for byte in request("hello") * 3:
                agent.send(bytes([byte]))
            self.assertEqual([agent.answer()["op"] for _ in range(3)], ["hello"] * 3)

    def test_a_client_that_closes_at_every_byte(self):
        """The input ends after each byte of a session: a whole line is served, half a
        line is one clear error, and nothing hangs."""
        session = request("hello") + attempt(port=1) + b"\n" + request("exit")
        with netns.Namespace() as space:
            for size in range(len(session) + 1):
                answers, _, status = serve_once(session[:size], space)
                whole = session[:size].count(b"\n")
                half = whole < 3 and not (size == 0 or session[:size].endswith(b"\n"))
                self.assertEqual(len(answers), whole + half, session[:size])
                self.assertEqual("error" in answers[-1] if answers else False, half)
                self.assertEqual(status, 1 if half else 0)

    def test_a_client_that_goes_away_at_every_answer_byte(self):
        """The reader disappears after each byte of the answers, while a probe is under
        way that nothing else would end for two minutes."""
        with netns.Namespace() as space:
            space.nft("table inet t { chain c { type filter hook output priority 0; "
                      "tcp dport 9 drop; }; }")
            hello_size = len(json.dumps(serve_once(request("hello"))[0][0],
                                        separators=(",", ":")))
            # From the first byte on: then it has read both requests.
            for size in range(1, hello_size, 7):
                with Agent(space) as agent:
                    agent.send(request("hello") + attempt(timeout_ms=120000) + b"\n")
                    got = 0
                    while got < size:
                        got += len(os.read(agent.process.stdout.fileno(), size - got))
                    agent.process.stdout.close()
                    self.assertEqual(agent.process.wait(), 4)
                    self.assertIn(b"the client went away",
                                  agent.process.stderr.read())

    def test_output_that_is_full(self):
        """Answers that cannot be delivered are no success."""
        with open("/dev/full", "wb") as full:
            done = subprocess.run([client.PROBE, "net-agent"], input=request("hello"),
                                  stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"No space left", done.stderr)

    def test_files_as_input_and_output(self):
        with tempfile.TemporaryFile() as requests, tempfile.TemporaryFile() as answers:
            requests.write(request("hello") * 3000)
            requests.seek(0)
            done = subprocess.run([client.PROBE, "net-agent"], stdin=requests,
                                  stdout=answers)
            answers.seek(0)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(answers.read().count(b"\n"), 3000)

    def test_sockets_as_input_and_output(self):
        ours, its = socket.socketpair()
        with ours:
            with its:
                child = subprocess.Popen([client.PROBE, "net-agent"], stdin=its,
                                         stdout=its)
            ours.sendall(request("hello") * 2)
            ours.shutdown(socket.SHUT_WR)
            with ours.makefile("rb") as answers:
                self.assertEqual(len(answers.readlines()), 2)
            self.assertEqual(child.wait(), 0)

    def test_closed_standard_descriptors(self):
        """A socket of a probe must never become its standard input or output: it does
        not serve at all."""
        done = subprocess.Popen([client.PROBE, "net-agent"],
                                preexec_fn=lambda: os.closerange(0, 3))
        self.assertEqual(done.wait(), 4)

    def test_signals_end_it(self):
        for number in (15, 2, 1):
            with netns.Namespace() as space:
                space.nft("table inet t { chain c { type filter hook output priority 0; "
                          "tcp dport 9 drop; }; }")
                with Agent(space) as agent:
                    agent.ask("hello")
                    agent.send(attempt(timeout_ms=120000) + b"\n")
                    agent.process.send_signal(number)
                    self.assertEqual(agent.process.wait(), 0)

    def test_stop_and_continue(self):
        """A stopped agent's epoll_wait() goes on afterwards, behind its filter too."""
        with netns.Namespace() as space:
            space.nft("table inet t { chain c { type filter hook output priority 0; "
                      "tcp dport 9 drop; }; }")
            with Agent(space) as agent:
                agent.send(attempt(timeout_ms=300) + b"\n")
                for number in (19, 18) * 3:
                    agent.process.send_signal(number)
                self.assertEqual(agent.answer()["outcome"], "timeout")


class CommandLineTest(unittest.TestCase):
    def run_probe(self, *arguments, name=client.PROBE):
        return subprocess.run([name, *arguments], executable=client.PROBE,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def test_names_dispatch(self):
        for name, shown in (("net-agent", "net-agent"), ("/x/net-agent", "net-agent"),
                            ("net-probe", "net-probe"), ("other", "net-probe")):
            done = self.run_probe("--version", name=name)
            self.assertEqual((done.returncode, done.stdout.split()[0]), (0, shown))
        self.assertEqual(self.run_probe(name="net-agent").returncode, 0)
        self.assertEqual(self.run_probe(name="net-once").returncode, 2)

    def test_links_are_beside_it(self):
        for name in ("net-agent", "net-once"):
            done = subprocess.run([os.path.join(os.path.dirname(client.PROBE), name),
                                   "--help"], capture_output=True, text=True)
            self.assertTrue(done.stdout.startswith(name + ":"), done.stdout)

    def test_mistakes(self):
        for arguments, text in (
                ((), "a command is missing"),
                (("agent",), "is not a command"),
                (("net-agent", "x"), "one operand too many"),
                (("net-agent", "--unix"), "wants an argument"),
                (("net-agent", "--unix", "relative"), "not a clean absolute path"),
                (("net-agent", "--unix", "/tmp/../x"), "not a clean absolute path"),
                (("net-agent", "--unix", "/"), "not a clean absolute path"),
                (("net-agent", "--unix", "/" + "x" * 200), "longer than"),
                (("net-agent", "--allow-self"), "goes with --unix"),
                (("net-once", "--plan", "/x"), "--report is missing"),
                (("net-once", "--plan", "x", "--report", "/y"),
                 "not a clean absolute path")):
            with self.subTest(arguments=arguments):
                done = self.run_probe(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
