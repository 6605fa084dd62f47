# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces for tests, without names and without leftovers.

A Namespace lives in a child process that does nothing but hold it: it dies with
the test (parent-death signal), and the kernel then frees the namespace with its
interfaces, routes and rules. Nothing is mounted below /run/netns, so nothing can be
left there and two tests can never meet.

    with Namespace() as here, Namespace() as there:
        connect_pair(here, "10.0.0.1/24", there, "10.0.0.2/24")
        there.nft("table inet t { chain c { type filter hook input priority 0; "
                  "tcp dport 9 drop; }; }")
        server = there.listen("10.0.0.2", 80)
        with here.entered():
            client = socket.create_connection(("10.0.0.2", 80))
        done = here.run(["build/bin/net-probe", "net-agent"], input=b"...")

A socket stays in the namespace it was made in. entered() changes the calling thread
alone. A cgroup2 group of the test's own is a Cgroup.
"""
import contextlib
import ctypes
import itertools
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
NFT = "/usr/sbin/nft"
IP = "/usr/sbin/ip"
SYSCTL_ROOT = "/proc/sys"

_libc = ctypes.CDLL(None, use_errno=True)
_numbers = itertools.count()


def _check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def unshare(flags):
    _check(_libc.unshare(flags), "unshare")


def setns(fd, kind=0):
    _check(_libc.setns(fd, kind), "setns")


def mount_over(source, target):
    """For preexec_fn: `source` in place of the file `target`, for this process and its
    children alone. The mount goes with them."""
    unshare(CLONE_NEWNS)
    _check(_libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    _check(_libc.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND, None),
           f"mount {source}")


def die_with_parent():
    """For the child side of a fork: the kernel kills it when its parent ends. The
    parent is the thread that forked: what a helper thread starts ends with it."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def exit_on_signals():
    """Makes SIGTERM and SIGINT an ordinary exit, so that "with" blocks and "finally"
    clean up. Call it once, first thing in a test's main."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, frame: sys.exit(128 + got))


class Namespace:
    """A network namespace with its loopback up."""

    def __init__(self, loopback=True):
        ready, told = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                die_with_parent()
                unshare(CLONE_NEWNET)
                for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                    signal.signal(number, signal.SIG_DFL)
                os.close(ready)
                os.write(told, b"1")
                os.closerange(0, 65536)
                while True:
                    signal.pause()
            finally:
                os._exit(1)
        os.close(told)
        answered = os.read(ready, 1)
        os.close(ready)
        if answered != b"1":
            os.waitpid(self.pid, 0)
            raise OSError("the namespace could not be made")
        self.fd = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.children = []
        if loopback:
            self.ip("link", "set", "lo", "up")

    def close(self):
        """Ends what was started in it, and the namespace itself."""
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.children = []
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.pid = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    @contextlib.contextmanager
    def entered(self):
        """The calling thread is in the namespace inside the "with"."""
        back = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(self.fd, CLONE_NEWNET)
            try:
                yield self
            finally:
                setns(back, CLONE_NEWNET)
        finally:
            os.close(back)

    def popen(self, command, **options):
        """subprocess.Popen in the namespace; killed by close() at the latest. The
        process dies with the test."""
        before = options.pop("preexec_fn", None)

        def enter():
            die_with_parent()
            setns(self.fd, CLONE_NEWNET)
            if before:
                before()

        child = subprocess.Popen(command, preexec_fn=enter, **options)
        self.children.append(child)
        return child

    def run(self, command, input=None, timeout=60, check=True, **options):
        """Runs a command to its end, output captured as bytes."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        child = self.popen(command, stdin=subprocess.PIPE if input is not None
                           else subprocess.DEVNULL, **options)
        try:
            out, err = child.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise
        finally:
            self.children.remove(child)
        if check and child.returncode:
            raise RuntimeError(f"{command}: exit status {child.returncode}: "
                               f"{(err or b'').decode(errors='replace').strip()}")
        return subprocess.CompletedProcess(command, child.returncode, out, err)

    def ip(self, *arguments):
        return self.run([IP, *arguments])

    def nft(self, text):
        """Loads rules, as one transaction."""
        return self.run([NFT, "-f", "-"], input=text.encode())

    def sysctl(self, name, value):
        """Sets a sysctl of the namespace: sysctl("net/ipv4/tcp_syn_retries", 2)."""
        with self.entered(), open(os.path.join(SYSCTL_ROOT, name), "w") as file:
            file.write(str(value))

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
        with self.entered():
            return socket.socket(family, kind, protocol)

    def listen(self, address, port=0, backlog=128):
        """A listening TCP socket; its port is in getsockname()[1]."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = self.socket(family)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(backlog)
        return made

    def capture(self, interface):
        return Capture(self, interface)


def _without_detection(namespace, interface):
    # An address is usable at once: no wait for duplicate address detection.
    for name in ("accept_dad", "dad_transmits"):
        namespace.sysctl(f"net/ipv6/conf/{interface}/{name}", 0)


def connect_pair(left, left_addresses, right, right_addresses, name=None):
    """A veth pair between two namespaces, addresses ("10.0.0.1/24", or a list of
    them, IPv6 too) assigned, both ends up. Returns the interface's name, the same
    on both sides."""
    name = name or f"v{next(_numbers)}"
    left.ip("link", "add", name, "type", "veth", "peer", "name", name,
            "netns", str(right.pid))
    for namespace, addresses in ((left, left_addresses), (right, right_addresses)):
        if isinstance(addresses, str):
            addresses = [addresses]
        _without_detection(namespace, name)
        for address in addresses:
            extra = ["nodad"] if ":" in address else []
            namespace.ip("address", "add", address, "dev", name, *extra)
        namespace.ip("link", "set", name, "up")
    return name


class Capture:
    """Every frame an interface of a namespace sends or receives, from entering the
    "with" on. On loopback each frame is seen once (its outgoing copy is skipped)."""

    ALL = 0x0003  # ETH_P_ALL, linux/if_ether.h

    def __init__(self, namespace, interface):
        self.namespace, self.interface = namespace, interface
        self.frames = []

    def __enter__(self):
        self.socket = self.namespace.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)  # SO_RCVBUFFORCE
        self.socket.bind((self.interface, self.ALL))
        self.stop, self.stopped = os.pipe()
        self.thread = threading.Thread(target=self._read)
        self.thread.start()
        return self

    def _read(self):
        while True:
            ready, _, _ = select.select([self.socket, self.stop], [], [])
            if self.socket in ready:
                frame, address = self.socket.recvfrom(65536)
                if not (self.interface == "lo" and address[2] == socket.PACKET_OUTGOING):
                    self.frames.append(frame)
            elif self.stop in ready:
                return

    def __exit__(self, *error):
        os.close(self.stopped)
        self.thread.join()
        # PACKET_STATISTICS (linux/if_packet.h): what was lost would prove nothing.
        _, lost = struct.unpack("II", self.socket.getsockopt(263, 6, 8))
        self.socket.close()
        os.close(self.stop)
        if lost and not error[0]:
            raise RuntimeError(f"the capture lost {lost} frames")

    def tcp_segments(self):
        """(source port, destination port, flags, payload) of every TCP segment."""
        for frame in self.frames:
            kind = struct.unpack("!H", frame[12:14])[0]
            packet = frame[14:]
            if kind == 0x0800 and packet[9] == 6:
                head = (packet[0] & 15) * 4
                end = struct.unpack("!H", packet[2:4])[0]
            elif kind == 0x86dd and packet[6] == 6:
                head = 40
                end = 40 + struct.unpack("!H", packet[4:6])[0]
            else:
                continue
            segment = packet[head:end]
            source, destination = struct.unpack("!HH", segment[:4])
            offset = (segment[12] >> 4) * 4
            yield source, destination, segment[13], segment[offset:]


def cgroup_root():
    """Where cgroup2 is mounted on this machine, hybrid ones included."""
    with open("/proc/self/mounts", encoding="ascii", errors="replace") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == "cgroup2":
                return fields[1]
    raise OSError("no cgroup2 is mounted")


class Cgroup:
    """A cgroup2 group with a name of its own; removed, with what runs in it, by
    close()."""

    def __init__(self, parent=None, name=None):
        self.path = os.path.join(parent.path if parent else cgroup_root(),
                                 name or f"netproof-{os.getpid()}-{next(_numbers)}")
        os.mkdir(self.path)

    def add(self, pid=0):
        """Moves a process into it; 0 is the caller (for preexec_fn)."""
        with open(os.path.join(self.path, "cgroup.procs"), "w") as file:
            file.write(str(pid))

    def close(self):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.path, "cgroup.kill"), "w") as file:
                file.write("1")
        # Killed processes leave in their own time; only an empty group goes.
        for _ in range(500):
            try:
                os.rmdir(self.path)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.01)
        os.rmdir(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
