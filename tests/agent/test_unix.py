#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent on its Unix socket: one owner, one connection; adopted listeners and their
expiry, on either clock."""
import array
import contextlib
import json
import os
import select
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import client  # noqa: E402
from client import connect_unix, netns, request  # noqa: E402

SLOW = 60000
NOBODY = 65534
CLOCK_PROBE = os.path.abspath("build/clock/bin/net-probe")
FAR = 4102444800  # 2100


class UnixAgent:
    """net-agent --unix in a folder of its own."""

    def __init__(self, namespace=None, program=client.PROBE, uid=None, arguments=(),
                 environment=None):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)
        if uid is not None:
            os.chown(self.folder.name, uid, uid)
        self.path = os.path.join(self.folder.name, "agent.sock")
        start = namespace.popen if namespace else subprocess.Popen

        def change_user():
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)

        # The program may lie where its user cannot go: it is started through an open
        # descriptor. A change of user clears the parent-death signal; close() kills.
        self.binary = os.open(program, os.O_PATH)
        self.process = start(
            [f"/proc/self/fd/{self.binary}", "net-agent", "--unix", self.path,
             *arguments],
            pass_fds=[self.binary], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=change_user, env={**os.environ, **(environment or {})})
        self.socket = self.lines = None

    def connect(self):
        self.socket = connect_unix(self.path)
        self.lines = self.socket.makefile("rb")
        return self

    def send(self, data, descriptors=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self.socket.sendmsg([data], rights if descriptors else [])

    def answer(self):
        line = self.lines.readline()
        if not line:
            raise EOFError("the agent ended the session")
        return json.loads(line)

    def ask(self, op, descriptors=(), **fields):
        self.send(request(op, **fields), descriptors)
        return self.answer()

    def adopt(self, listener, expires_at_unix=FAR):
        return self.ask("adopt", [listener.fileno()], expires_at_unix=expires_at_unix)

    def close(self):
        if self.socket:
            self.lines.close()
            self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self.binary)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def connect_as(uid, path):
    """Connects as another user in a child; returns what it read until the end."""
    script = ("import os, socket, sys\n"
              f"os.setgid({uid}); os.setuid({uid})\n"
              "s = socket.socket(socket.AF_UNIX)\n"
              "try:\n"
              f"    s.connect({path!r})\n"
              "except OSError as error:\n"
              "    sys.exit(f'connect: {error.strerror}')\n"
              "try:\n"
              "    s.sendall(b'{\"op\":\"hello\"}\\n')\n"
              "except BrokenPipeError:\n"
              "    pass\n"
              "try:\n"
              "    print(s.recv(4096))\n"
              "except ConnectionResetError:\n"
              "    print(b'')\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip()


class SocketTest(unittest.TestCase):
    def test_one_connection_on_an_owner_only_socket(self):
        with UnixAgent(uid=NOBODY) as agent:
            while not os.path.exists(agent.path):
                client.yield_processor()
            status = os.stat(agent.path)
            self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid),
                             (0o600, NOBODY))
            agent.connect()
            answer = agent.ask("hello")
            self.assertEqual((answer["uid"], answer["pid"]), (NOBODY, agent.process.pid))
            self.assertEqual(answer["sandbox"], client.SANDBOX)
            self.assertEqual(os.listdir(agent.folder.name), [])
            with socket.socket(socket.AF_UNIX) as second:
                self.assertRaises(FileNotFoundError, second.connect, agent.path)
            self.assertEqual(agent.ask("exit"), {"schema": "netproof.agent.v1",
                                                 "op": "exit"})
            self.assertEqual(agent.process.wait(), 0)

    def test_others_are_closed_and_root_is_served_after_them(self):
        """The agent's own user is another, too."""
        with UnixAgent(uid=NOBODY) as agent:
            while not os.path.exists(agent.path):
                client.yield_processor()
            for _ in range(3):
                self.assertEqual(connect_as(NOBODY, agent.path), "b''")
            self.assertEqual(connect_as(1234, agent.path), "connect: Permission denied")
            self.assertEqual(agent.connect().ask("hello")["op"], "hello")

    def test_own_user_may_with_allow_self(self):
        with UnixAgent(uid=NOBODY, arguments=["--allow-self"]) as agent:
            while not os.path.exists(agent.path):
                client.yield_processor()
            self.assertIn('"op":"hello"', connect_as(NOBODY, agent.path))

    def test_no_other_user_with_allow_self(self):
        with UnixAgent(uid=NOBODY, arguments=["--allow-self"]) as agent:
            while not os.path.exists(agent.path):
                client.yield_processor()
            os.chmod(agent.path, 0o666)
            self.assertEqual(connect_as(1234, agent.path), "b''")

    def test_queued_connection_does_not_outlive_the_accepted(self):
        """Somebody who connected before, but was not accepted, gets an end, never an
        answer."""
        with UnixAgent() as agent:
            agent.connect()
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                with socket.socket(socket.AF_UNIX) as second:
                    second.connect(agent.path)
                    agent.ask("hello")
                    with contextlib.suppress(ConnectionResetError):
                        self.assertEqual(second.recv(1), b"")

    def test_path_that_exists_is_refused_and_left_alone(self):
        for make in (lambda p: open(p, "w").close(), os.mkdir,
                     lambda p: os.symlink("/nonexistent", p)):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "agent.sock")
                make(path)
                before = os.lstat(path)
                done = subprocess.run([client.PROBE, "net-agent", "--unix", path],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr, f"net-probe: refused: {path}: "
                                              "already exists\n")
                self.assertEqual(os.lstat(path), before)

    def test_folder_that_is_not_there(self):
        done = subprocess.run([client.PROBE, "net-agent", "--unix", "/nonexistent/a/b"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent/a: No such file", done.stderr)

    def test_replaced_path_is_not_removed(self):
        with UnixAgent() as agent:
            while not os.path.exists(agent.path):
                client.yield_processor()
            os.rename(agent.path, agent.path + ".moved")
            with open(agent.path, "w"):
                pass
            agent.socket = connect_unix(agent.path + ".moved")
            agent.lines = agent.socket.makefile("rb")
            agent.ask("hello")
            self.assertTrue(os.path.exists(agent.path))

    def test_signal_while_waiting_removes_the_path(self):
        with UnixAgent() as agent:
            while not os.path.exists(agent.path):
                client.yield_processor()
            agent.process.terminate()
            self.assertEqual(agent.process.wait(), 0)
            self.assertEqual(os.listdir(agent.folder.name), [])

    def test_client_that_goes_away_ends_the_agent(self):
        with netns.Namespace() as space:
            space.nft("table inet t { chain c { type filter hook output priority 0; "
                      "tcp dport 9 drop; }; }")
            with UnixAgent(space) as agent:
                agent.connect().send(request("connect", address="127.0.0.1", port=9,
                                             timeout_ms=120000))
                agent.lines.close()
                agent.socket.close()
                self.assertEqual(agent.process.wait(), 4)

    def test_client_that_has_all_its_answers_may_just_close(self):
        with UnixAgent() as agent:
            agent.connect().ask("hello")
            agent.lines.close()
            agent.socket.close()
            self.assertEqual(agent.process.wait(), 0)


class AdoptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = netns.Namespace()
        cls.addClassCleanup(cls.space.close)

    def test_adopted_listener_accepts_where_it_was_opened(self):
        """It was opened in another namespace than the agent's, blocking."""
        with netns.Namespace() as other, other.listen("127.0.0.1") as listener, \
                UnixAgent(self.space) as agent:
            address = listener.getsockname()
            agent.connect()
            handle = agent.adopt(listener)
            self.assertEqual(set(handle), {"schema", "op", "listener"})
            listener.close()
            peer = other.socket()
            peer.connect(address)
            answer = agent.ask("accept", listener=handle["listener"], timeout_ms=SLOW)
            self.assertEqual((answer["outcome"], answer["remote_address"]),
                             ("accepted", "127.0.0.1"))
            self.assertEqual(agent.ask("check", connection=answer["connection"],
                                       timeout_ms=50)["outcome"], "connected")
            self.assertEqual(agent.ask("accept", listener=handle["listener"],
                                       timeout_ms=50)["outcome"], "timeout")
            peer.close()

    def test_ipv6_listener_names_ipv4_peers_as_such(self):
        listener = self.space.listen("::")
        with listener, UnixAgent(self.space) as agent:
            handle = agent.connect().adopt(listener)["listener"]
            for family, address in ((socket.AF_INET, "127.0.0.1"),
                                    (socket.AF_INET6, "::1")):
                with self.space.socket(family) as peer:
                    peer.connect((address, listener.getsockname()[1]))
                    self.assertEqual(agent.ask("accept", listener=handle, timeout_ms=SLOW)
                                     ["remote_address"], address)

    def refused(self, data, descriptors, wanted):
        with UnixAgent(self.space) as agent:
            agent.connect().send(data, [d.fileno() for d in descriptors])
            answer = agent.answer()
            self.assertIn(wanted, answer.get("error", answer))
            self.assertEqual(agent.lines.readline(), b"")
            self.assertEqual(agent.process.wait(), 1)

    def test_what_is_no_listening_tcp_socket_is_refused(self):
        adopt = request("adopt", expires_at_unix=FAR)
        unbound = self.space.socket()
        datagram = self.space.socket(kind=socket.SOCK_DGRAM)
        local = socket.socket(socket.AF_UNIX)
        local.bind("")
        local.listen()
        raw = self.space.socket(kind=socket.SOCK_RAW, protocol=socket.IPPROTO_TCP)
        mptcp = self.space.socket(protocol=262)  # IPPROTO_MPTCP: not TCP's own
        mptcp.listen()
        with self.space.listen("127.0.0.1") as listener:
            connected = self.space.socket()
            connected.connect(listener.getsockname())
        for thing in (unbound, datagram, local, raw, mptcp, connected,
                      open(os.devnull, "rb")):
            with self.subTest(thing=thing), thing:
                self.refused(adopt, [thing], "not a listening TCP socket")

    def test_adopt_without_or_with_too_many_descriptors(self):
        adopt = request("adopt", expires_at_unix=FAR)
        with self.space.listen("127.0.0.1") as one, self.space.listen("127.0.0.1") as two:
            self.refused(adopt, [], "no descriptor came with adopt")
            self.refused(adopt, [one, two], "more descriptors than adopts")
            self.refused(adopt, [one] * 5, "more descriptors than adopts")
            self.refused(adopt, [one] * 200, "more descriptors than adopts")

    def test_descriptors_that_no_adopt_takes(self):
        with self.space.listen("127.0.0.1") as listener, UnixAgent(self.space) as agent:
            agent.connect()
            for _ in range(2):
                agent.send(request("hello"), [listener.fileno()])
                self.assertEqual(agent.answer()["op"], "hello")
            agent.send(request("hello"), [listener.fileno()])
            self.assertIn("more descriptors than adopts", agent.answer()["error"])

    def test_descriptors_keep_to_their_requests(self):
        """Pipelined adopts, each with its own; the line in pieces."""
        with contextlib.ExitStack() as stack:
            listeners = [stack.enter_context(self.space.listen("127.0.0.1"))
                         for _ in range(8)]
            agent = stack.enter_context(UnixAgent(self.space)).connect()
            line = request("adopt", expires_at_unix=FAR)
            for listener in listeners:
                agent.send(line[:7], [listener.fileno()])
                agent.send(line[7:])
            handles = [agent.answer()["listener"] for _ in listeners]
            for handle, listener in zip(handles, listeners):
                peer = stack.enter_context(self.space.socket())
                peer.connect(listener.getsockname())
                self.assertEqual(agent.ask("accept", listener=handle, timeout_ms=SLOW)
                                 ["outcome"], "accepted")

    def test_nothing_passed_is_left_open(self):
        with self.space.listen("127.0.0.1") as listener, UnixAgent(self.space) as agent:
            agent.connect().send(request("hello"), [listener.fileno()] * 3)
            agent.answer()
            port = listener.getsockname()[1]
            listener.close()
            agent.process.wait()
            with self.space.socket() as peer:
                self.assertRaises(ConnectionRefusedError, peer.connect,
                                  ("127.0.0.1", port))


def until_ended(peer):
    """Waits for the end of a connection, and says how it came."""
    try:
        return "data" if peer.recv(1) else "closed"
    except ConnectionResetError:
        return "reset"


class ExpiryTest(unittest.TestCase):
    """The listener and its flows are gone at the expiry, whichever clock says so."""

    @classmethod
    def setUpClass(cls):
        cls.space = netns.Namespace()
        cls.addClassCleanup(cls.space.close)

    @contextlib.contextmanager
    def adopted(self, expires_at_unix, program=client.PROBE, environment=None):
        with self.space.listen("127.0.0.1") as listener, self.space.socket() as peer, \
                UnixAgent(self.space, program, environment=environment) as agent:
            agent.connect()
            address = listener.getsockname()
            handle = agent.adopt(listener, expires_at_unix)["listener"]
            listener.close()
            peer.connect(address)
            flow = agent.ask("accept", listener=handle, timeout_ms=SLOW)["connection"]
            yield agent, handle, flow, peer, address

    def assert_gone(self, agent, handle, flow, peer, address):
        self.assertEqual(until_ended(peer), "closed")
        for _ in range(2):
            self.assertEqual(agent.ask("check", connection=flow,
                                       timeout_ms=SLOW)["outcome"], "closed")
            self.assertEqual(agent.ask("accept", listener=handle,
                                       timeout_ms=SLOW)["outcome"], "closed")
        with self.space.socket() as other:
            self.assertRaises(ConnectionRefusedError, other.connect, address)

    def assert_there(self, agent, handle, flow, address):
        self.assertEqual(agent.ask("check", connection=flow,
                                   timeout_ms=20)["outcome"], "connected")
        with self.space.socket() as other:
            other.connect(address)
            self.assertEqual(agent.ask("accept", listener=handle,
                                       timeout_ms=SLOW)["outcome"], "accepted")

    def test_at_the_expiry_without_a_request(self):
        """Pending check and accept end, and nobody had to ask."""
        expiry = int(time.time()) + 2
        with self.adopted(expiry) as (agent, handle, flow, peer, address):
            self.assert_there(agent, handle, flow, address)
            agent.send(request("check", connection=flow, timeout_ms=SLOW) +
                       request("accept", listener=handle, timeout_ms=SLOW))
            self.assertEqual(until_ended(peer), "closed")
            # Two clocks, each read to the millisecond: it may end one early.
            self.assertGreaterEqual(time.time(), expiry - 0.001)
            self.assertEqual([agent.answer()["outcome"] for _ in range(2)],
                             ["closed", "closed"])
            self.assert_gone(agent, handle, flow, peer, address)
            # What was not adopted stays.
            other = agent.ask("listen", address="127.0.0.1", port=4343)["listener"]
            self.assertEqual(agent.ask("accept", listener=other,
                                       timeout_ms=20)["outcome"], "timeout")

    def test_expired_already(self):
        with self.space.listen("127.0.0.1") as listener, UnixAgent(self.space) as agent:
            answer = agent.connect().adopt(listener, int(time.time()))
            self.assertEqual(answer["outcome"], "closed")
            self.assertNotIn("listener", answer)
            address = listener.getsockname()
            listener.close()
            with self.space.socket() as peer:
                self.assertRaises(ConnectionRefusedError, peer.connect, address)

    @contextlib.contextmanager
    def clock(self):
        """Offsets in milliseconds for the test build's clocks: set(wall, boot)."""
        with tempfile.NamedTemporaryFile("w") as file:
            def set_offsets(wall, boot):
                # In place, and longer never shorter: the agent has it open.
                file.seek(0)
                file.write(f"{wall:015d} {boot:015d}\n")
                file.flush()

            set_offsets(0, 0)
            yield set_offsets, {"NETPROOF_TEST_CLOCK": file.name}

    def test_each_clock_alone_ends_it(self):
        """Ten minutes are left. One clock passes them, the other stands or goes back:
        gone either way. The agent looks at each turn: a request makes one."""
        for shift in ((600000, 0), (0, 600000), (600000, -600000), (-600000, 600000)):
            with self.subTest(shift=shift), self.clock() as (set_offsets, environment), \
                    self.adopted(int(time.time()) + 600, CLOCK_PROBE, environment) as \
                    (agent, handle, flow, peer, address):
                self.assert_there(agent, handle, flow, address)
                set_offsets(*(-1000 if s < 0 else s - 5000 for s in shift))
                self.assert_there(agent, handle, flow, address)
                set_offsets(*shift)
                agent.ask("hello")
                self.assert_gone(agent, handle, flow, peer, address)

    def test_clock_set_back_gives_no_time(self):
        """The wall clock is set back an hour: the boot clock's deadline stands."""
        with self.clock() as (set_offsets, environment), \
                self.adopted(int(time.time()) + 600, CLOCK_PROBE, environment) as \
                (agent, handle, flow, peer, address):
            set_offsets(-3600000, 0)
            self.assert_there(agent, handle, flow, address)
            set_offsets(-3600000 + 600000, 600000)
            agent.ask("hello")
            self.assert_gone(agent, handle, flow, peer, address)

    def test_timers_are_on_both_clocks(self):
        """Both are armed, so that the end needs no request: read from outside."""
        with self.adopted(int(time.time()) + 600) as (agent, *_):
            clocks = {}
            for name in os.listdir(f"/proc/{agent.process.pid}/fdinfo"):
                with open(f"/proc/{agent.process.pid}/fdinfo/{name}") as info:
                    fields = dict(line.split(":", 1) for line in info if ":" in line)
                if "clockid" in fields:
                    value = fields["it_value"].strip().strip("()").split(",")[0]
                    clocks[int(fields["clockid"])] = int(value)
            self.assertEqual(set(clocks), {time.CLOCK_REALTIME, time.CLOCK_BOOTTIME})
            for seconds in clocks.values():
                self.assertTrue(500 < seconds <= 600, clocks)


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
