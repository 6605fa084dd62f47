#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-proxy from outside: whatever is asked, and however, the answer is 403.

Runs in a network namespace of its own, so that its ports and its thousands of
connections are nobody else's.
"""
import fcntl
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROXY = os.path.join(TOP, os.environ.get("BUILD", "build"), "bin/net-proxy")
ANSWER = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ADDRESS = ("127.0.0.1", 3128)
# proxy/server.h and proxy/head.h
CONNECTIONS = 1024
HEAD_LIMIT = 8192
DRAIN_LIMIT = 65536
# Nothing waits this long unless the proxy has stopped working.
HANG = 60
REFUSED_KEY = "net-proxy: refused: "


def listening(address):
    """Whether the kernel has such a listener: read, not tried."""
    table, hexed = ("tcp6", socket.AF_INET6) if ":" in address[0] else ("tcp",
                                                                        socket.AF_INET)
    raw = socket.inet_pton(hexed, address[0])
    words = struct.unpack(f"={len(raw) // 4}I", raw)
    wanted = "".join(f"{w:08X}" for w in words) + f":{address[1]:04X}"
    with open("/proc/net/" + table, encoding="ascii") as lines:
        return any(l.split()[1] == wanted and l.split()[3] == "0A"
                   for l in lines.readlines()[1:])


def start(*arguments, **options):
    return subprocess.Popen((PROXY,) + arguments, stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, **options)


def wait_until(condition, process):
    """Polls what has no event of its own; a dead proxy ends it, and so does HANG."""
    for _ in range(HANG * 100):
        if condition():
            return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise AssertionError(f"never true; exit status {process.poll()}")


def read_all(connection):
    text = b""
    while True:
        piece = connection.recv(65536)
        if not piece:
            return text
        text += piece


def unsent(connection):
    """Bytes that the peer has not acknowledged (SIOCOUTQ)."""
    room = fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4)
    return struct.unpack("i", room)[0]


def connect(address=ADDRESS):
    return socket.create_connection(address, timeout=HANG)


def ask(request, ends=False, address=ADDRESS):
    with connect(address) as connection:
        connection.sendall(request)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        return read_all(connection)


class Case(unittest.TestCase):
    def setUp(self):
        self.proxy = self.serve(*ADDRESS)

    def serve(self, address, port, **options):
        proxy = start(address, str(port), **options)
        self.addCleanup(self.end, proxy)
        wait_until(lambda: listening((address, port)), proxy)
        return proxy

    @staticmethod
    def end(proxy):
        proxy.kill()
        proxy.wait()
        proxy.stderr.close()

    def tearDown(self):
        # Whatever was done to it, it still answers.
        self.assertEqual(ask(b"GET / HTTP/1.0\r\n\r\n"), ANSWER)
        self.assertIsNone(self.proxy.poll())


class Requests(Case):
    def test_every_kind(self):
        for request in (
                b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
                b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
                b"CONNECT 10.0.0.1:22 HTTP/1.0\r\n\r\n",
                b"HEAD http://a.example/ HTTP/1.1\r\n\r\n",
                b"OPTIONS * HTTP/1.1\r\n\r\n",
                b"POST http://a.example/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
                b"GET http://a.example/ HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
                b"GET / HTTP/1.1\nHost: a\n\n",
                b"\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"get nothing at all\r\n\r\n",
                b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"):
            for ends in (False, True):
                self.assertEqual(ask(request, ends), ANSWER, request)

    def test_garbage(self):
        everything = bytes(range(256))
        for request in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + everything,
                        everything * 16, b"\0", b"\n", b"x", b"\r\n\r\n",
                        b"\x05\x01\x00", b"SSH-2.0-x\r\n"):
            self.assertEqual(ask(request, ends=True), ANSWER, request[:16])
        self.assertEqual(ask(b"a" * HEAD_LIMIT), ANSWER)
        self.assertEqual(ask(os.urandom(2 * HEAD_LIMIT).replace(b"\n", b" ")), ANSWER)

    def test_nothing_asked_nothing_answered(self):
        self.assertEqual(ask(b"", ends=True), b"")

    def test_a_byte_at_a_time(self):
        with connect() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in b"GET / HTTP/1.1\r\nHost: a\r\n\r\n":
                connection.sendall(bytes([byte]))
            self.assertEqual(read_all(connection), ANSWER)

    def test_a_body_does_not_cost_the_answer(self):
        # Closed with unread data, the connection would be reset, and the answer lost.
        for size in (1, 1000, DRAIN_LIMIT - 1):
            head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size
            with connect() as connection:
                connection.sendall(head + b"x" * (size // 2))
                self.assertEqual(read_all(connection), ANSWER, size)
                connection.sendall(b"x" * (size - size // 2))
                wait_until(lambda c=connection: unsent(c) == 0, self.proxy)
                self.assertEqual(connection.getsockopt(socket.SOL_SOCKET,
                                                       socket.SO_ERROR), 0)

    def test_one_after_another(self):
        for _ in range(2000):
            self.assertEqual(ask(b"GET / HTTP/1.1\r\n\r\n"), ANSWER)

    def test_reset_at_any_point(self):
        for request in (b"", b"GET", b"GET / HTTP/1.1\r\n\r\n"):
            for _ in range(100):
                connection = connect()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                      struct.pack("ii", 1, 0))
                connection.sendall(request)
                connection.close()


class Bounds(Case):
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.proxy.pid}/fd"))

    def test_an_endless_request_is_cut(self):
        connection = connect()
        sent = 0
        # Beyond the two limits only what the two sockets' buffers hold can be sent.
        with connection, self.assertRaises((ConnectionResetError, BrokenPipeError)):
            while sent < 64 * (HEAD_LIMIT + DRAIN_LIMIT):
                sent += connection.send(b"x" * 4096)
        self.assertGreaterEqual(sent, HEAD_LIMIT)

    def test_time_is_up_for_whoever_dawdles(self):
        """Side by side, each ended by the proxy alone: silent, one byte a time, and
        answered but never closing."""
        with connect() as silent, connect() as slow, connect() as lingering:
            lingering.sendall(b"GET / HTTP/1.1\r\n\r\n")
            slow.settimeout(0.2)
            answer = b""
            for _ in range(HANG * 5):
                try:
                    slow.sendall(b"x")
                    answer = slow.recv(4096)
                    break
                except TimeoutError:
                    pass
            self.assertEqual(answer, ANSWER)
            self.assertEqual(read_all(silent), b"")
            # Its own side is still open; the proxy's descriptor is gone: the next
            # byte is answered by a reset.
            self.assertEqual(read_all(lingering), ANSWER)
            wait_until(lambda: self.descriptors() <= 6, self.proxy)
            with self.assertRaises((ConnectionResetError, BrokenPipeError)):
                for _ in range(HANG * 100):
                    lingering.sendall(b"x")
                    time.sleep(0.01)

    def test_thousands_of_idle_connections(self):
        idle = []
        try:
            for _ in range(3 * CONNECTIONS):
                idle.append(connect())
            self.assertEqual(ask(b"GET / HTTP/1.1\r\n\r\n"), ANSWER)
            self.assertLessEqual(self.descriptors(), CONNECTIONS + 16)
            # The oldest gave way, in order; the youngest are still served.
            self.assertEqual(idle[0].recv(1), b"")
            self.assertEqual(idle[CONNECTIONS].recv(1), b"")
            for youngest in idle[-100:]:
                youngest.sendall(b"GET / HTTP/1.1\r\n\r\n")
            for youngest in idle[-100:]:
                self.assertEqual(read_all(youngest), ANSWER)
        finally:
            for connection in idle:
                connection.close()

    def test_thousands_that_began_a_request(self):
        begun = []
        try:
            for _ in range(2 * CONNECTIONS):
                begun.append(connect())
                begun[-1].sendall(b"GET / HTTP/1.1\r\n")
            for _ in range(100):
                self.assertEqual(ask(b"GET / HTTP/1.1\r\n\r\n"), ANSWER)
            self.assertLessEqual(self.descriptors(), CONNECTIONS + 16)
        finally:
            for connection in begun:
                connection.close()

    def test_a_flood_that_never_reads(self):
        flood = []
        try:
            for _ in range(2 * CONNECTIONS):
                flood.append(connect())
                flood[-1].setblocking(False)
                try:
                    flood[-1].send(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 60000)
                except BlockingIOError:
                    pass
            self.assertEqual(ask(b"GET / HTTP/1.1\r\n\r\n"), ANSWER)
            self.assertLessEqual(self.descriptors(), CONNECTIONS + 16)
        finally:
            for connection in flood:
                connection.close()


class Confined(Case):
    def test_nothing_is_left_to_it(self):
        with open(f"/proc/{self.proxy.pid}/status", encoding="ascii") as file:
            status = dict(re.findall(r"^(\w+):\s*(.*)$", file.read(), re.M))
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"], status["Threads"]),
                         ("1", "2", "1"))
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        # Not dumpable: its files in /proc are root's, whoever it runs as.
        self.assertEqual(os.stat(f"/proc/{self.proxy.pid}/mem").st_uid, 0)

    def test_no_stray_descriptor(self):
        stray = os.open("/dev/null", os.O_RDONLY)
        try:
            proxy = self.serve("127.0.0.1", 3129, pass_fds=(stray,))
        finally:
            os.close(stray)
        links = [os.readlink(f"/proc/{proxy.pid}/fd/{n}")
                 for n in sorted(os.listdir(f"/proc/{proxy.pid}/fd"), key=int)]
        self.assertEqual([re.sub(r":\[\d+\]", "", l) for l in links[3:]],
                         ["socket", "anon_inode:[eventpoll]"])

    def test_as_an_ordinary_user(self):
        # The build may lie where that user cannot go.
        with tempfile.TemporaryDirectory(dir="/run") as folder:
            os.chmod(folder, 0o755)
            shutil.copy(PROXY, folder)
            self.serve("127.0.0.1", 3129, user=65534, group=65534, extra_groups=[],
                       executable=os.path.join(folder, "net-proxy"))
        self.assertEqual(ask(b"GET / HTTP/1.1\r\n\r\n", address=("127.0.0.1", 3129)),
                         ANSWER)

    def test_ipv6(self):
        self.serve("::1", 3129)
        self.assertEqual(ask(b"GET / HTTP/1.1\r\n\r\n", address=("::1", 3129)), ANSWER)

    def test_a_signal_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            proxy = self.serve("127.0.0.1", 3129)
            proxy.send_signal(number)
            self.assertEqual(proxy.wait(HANG), -number)


class Passed(unittest.TestCase):
    """A socket from a service manager."""

    def passed(self, listener, address="127.0.0.1", port="3130", pid="", count="1"):
        """A proxy that finds `listener` as descriptor 3."""
        script = ("import os, sys; os.dup2(int(sys.argv[1]), 3); "
                  "os.set_inheritable(3, True); "
                  "os.environ.update(LISTEN_PID=sys.argv[2] or str(os.getpid()), "
                  "LISTEN_FDS=sys.argv[3]); os.execv(sys.argv[4], sys.argv[4:])")
        number = listener.fileno()
        return subprocess.Popen(
            (sys.executable, "-c", script, str(number), pid, count, PROXY, address, port),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            pass_fds=(number,))

    def listener(self, kind=socket.SOCK_STREAM, port=3130):
        listener = socket.socket(socket.AF_INET, kind)
        self.addCleanup(listener.close)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        return listener

    def refused(self, proxy, text):
        _, error = proxy.communicate(timeout=HANG)
        self.assertEqual(proxy.returncode, 1, error)
        self.assertTrue(error.startswith(REFUSED_KEY), error)
        self.assertIn(text, error)

    def test_it_is_served(self):
        listener = self.listener()
        listener.listen()
        with connect(("127.0.0.1", 3130)) as early:  # queued before the start
            proxy = self.passed(listener)
            self.addCleanup(Case.end, proxy)
            early.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertEqual(read_all(early), ANSWER)

    def test_another_is_refused(self):
        idle = self.listener()
        self.refused(self.passed(idle), "no listening TCP socket")
        idle.listen()
        self.refused(self.passed(idle, port="3131"), "listens elsewhere")
        self.refused(self.passed(idle, address="127.0.0.2"), "listens elsewhere")
        self.refused(self.passed(idle, address="::1"), "listens elsewhere")
        self.refused(self.passed(idle, count="2"), "one socket is served, not 2")
        self.refused(self.passed(self.listener(socket.SOCK_DGRAM)), "no listening TCP")
        with open("/dev/null", encoding="ascii") as file:
            self.refused(self.passed(file), "no listening TCP socket")

    def test_one_for_another_process_is_left_alone(self):
        listener = self.listener()
        listener.listen()
        # Not its own: it opens one, and finds the port taken.
        self.refused(self.passed(listener, pid="1"), "somebody else listens there")


class Manager(unittest.TestCase):
    """What a service manager is told: that it serves, once it does, and goes on."""

    def test_ready_and_then_alive(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            name = f"netproof-proxy-{os.getpid()}"
            manager.bind("\0" + name)
            manager.settimeout(HANG)
            proxy = start("127.0.0.1", "3131", env={
                **os.environ, "NOTIFY_SOCKET": "@" + name, "WATCHDOG_USEC": "200000"})
            try:
                self.assertEqual(manager.recv(4096),
                                 b"READY=1\nSTATUS=Refusing on 127.0.0.1 port 3131")
                self.assertTrue(listening(("127.0.0.1", 3131)))
                for _ in range(3):
                    self.assertEqual(manager.recv(4096), b"WATCHDOG=1")
                with connect(("127.0.0.1", 3131)) as client:
                    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    self.assertEqual(read_all(client), ANSWER)
                self.assertEqual(manager.recv(4096), b"WATCHDOG=1")
            finally:
                proxy.kill()
                proxy.communicate()


class CommandLine(unittest.TestCase):
    def test_refused(self):
        for arguments, status, text in (
                ((), 2, "ADDRESS PORT missing"), (("127.0.0.1",), 2, "missing"),
                (("127.0.0.1", "1", "2"), 2, "one operand too many"),
                (("127.0.0.1", "0"), 2, "not a port"),
                (("127.0.0.1", "65536"), 2, "not a port"),
                (("127.0.0.1", "+1"), 2, "not a port"),
                (("localhost", "3128"), 2, "not a canonical"),
                (("127.1", "3128"), 2, "not a canonical"),
                (("fe80::1%lo", "3128"), 2, "not a canonical"),
                (("192.0.2.1", "3128"), 1, "not an address of this host")):
            result = subprocess.run((PROXY,) + arguments, stdin=subprocess.DEVNULL,
                                    capture_output=True, text=True, timeout=HANG,
                                    check=False)
            self.assertEqual(result.returncode, status, result)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result)

    def test_too_few_descriptors_are_refused_at_the_start(self):
        result = subprocess.run(
            (PROXY, "127.0.0.1", "3128"), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=HANG, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("512 open files are too few", result.stderr)


def inside(function):
    """Calls `function` in a network namespace of its own, with loopback only."""
    if sys.argv[1:2] != ["--inside"]:
        os.execvp("unshare", ["unshare", "--net", sys.executable] + sys.argv[:1] +
                  ["--inside"] + sys.argv[1:])
    del sys.argv[1]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    function()


if __name__ == "__main__":
    inside(unittest.main)
