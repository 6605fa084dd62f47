# SPDX-License-Identifier: GPL-2.0-or-later
"""A host with a workload user, and an outside: for tests of what the policy does.

Two network namespaces joined by a veth pair; real cgroups at the places where systemd
has a worker unit and a user manager; processes (Actor) of any uid in any of them.
Every name holds this test's process id, and everything goes when the World ends.

    with World() as world:
        profile = world.issue(window=60)
        world.host.run(["nft", "-f", "-"], input=world.compile(profile))
        worker = world.actor(world.uid, world.worker)
        assert worker.connect("198.51.100.1", 443) == "connected"
"""
import contextlib
import ctypes
import errno
import json
import os
import pickle
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import netns  # noqa: E402  (found through the line above)

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
NET_POLICY = os.path.join(TOP, os.environ.get("BUILD", "build"), "bin", "net-policy")
# What names are made unique with: a test in a pid namespace of its own has a number
# from outside.
NUMBER = int(os.environ.get("NETPROOF_NUMBER") or os.getpid())
MS_REC, MS_PRIVATE = 0x4000, 0x40000
MNT_DETACH = 2

HOST, GATEWAY = "192.0.2.1", "192.0.2.2"
HOST6, GATEWAY6 = "2001:db8::1", "2001:db8::2"
TRUSTED, OTHER, RESOLVER = "198.51.100.1", "198.51.100.2", "198.51.100.53"
ROUTER, PROXY = ("10.203.0.1", 8443), ("10.203.0.1", 3128)
OUTSIDE6 = "2001:db8:1::1"

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount_cgroup2():
    """nft looks for cgroups below /sys/fs/cgroup: there, in a mount namespace of this
    process's own, is the one cgroup2 hierarchy."""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
        points = [line.split()[1] for line in mounts]
    netns.unshare(netns.CLONE_NEWNS)
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make private")
    for point in sorted((p for p in points if p.startswith("/sys/fs/cgroup")),
                        reverse=True):
        _check(_libc.umount2(point.encode(), MNT_DETACH), f"unmount {point}")
    _check(_libc.mount(b"none", b"/sys/fs/cgroup", b"cgroup2", 0, None), "mount cgroup2")


class Group:
    """A cgroup by its path below the root. Parents that are missing are made, and
    whatever was made is removed."""

    def __init__(self, path):
        self.relative = path
        self.path = os.path.join("/sys/fs/cgroup", path)
        self.made = []
        at = "/sys/fs/cgroup"
        for part in path.split("/"):
            at = os.path.join(at, part)
            with contextlib.suppress(FileExistsError):
                os.mkdir(at)
                self.made.append(at)

    def inode(self):
        return os.stat(self.path).st_ino

    def take(self, pid):
        """Moves a process here."""
        with open(os.path.join(self.path, "cgroup.procs"), "w") as file:
            file.write(str(pid))

    def close(self):
        with contextlib.suppress(FileNotFoundError):
            with open(os.path.join(self.path, "cgroup.kill"), "w") as file:
                file.write("1")
        for at in reversed(self.made):
            for _ in range(500):
                try:
                    os.rmdir(at)
                    break
                except FileNotFoundError:
                    break
                except OSError as error:
                    # A killed process leaves in its own time; somebody else may
                    # use a slice that we happened to make.
                    if error.errno != errno.EBUSY or at != self.path:
                        break
                    time.sleep(0.01)


def name_of(error):
    return errno.errorcode.get(error.errno, str(error.errno)) if error.errno else "timeout"


class Actor:
    """A process of a uid, in a cgroup and a namespace, that does socket calls when
    told. Handles are small numbers. An outcome is "connected", "timeout" or the name
    of an errno."""

    def __init__(self, namespace, uid, group=None):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                ours.close()
                self._serve(theirs, namespace, uid, group)
                status = 0
            except (EOFError, ConnectionError):
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        self.channel = ours
        self._receive()

    def _serve(self, channel, namespace, uid, group):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if group:
            with open(os.path.join(group.path, "cgroup.procs"), "w") as file:
                file.write("0")
        netns.setns(namespace.fd, netns.CLONE_NEWNET)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        netns.die_with_parent()  # a change of credentials clears it
        self.channel, self.sockets, self.next = channel, {}, 0
        self._send("ready")
        while True:
            operation, arguments = self._receive()
            try:
                answer = getattr(self, "do_" + operation)(*arguments)
            except OSError as error:
                answer = name_of(error)
            self._send(answer)

    def _send(self, value):
        data = pickle.dumps(value)
        self.channel.sendall(struct.pack("!I", len(data)) + data)

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = self.channel.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def _receive(self):
        return pickle.loads(self._read(struct.unpack("!I", self._read(4))[0]))

    def start(self, operation, *arguments):
        self._send((operation, arguments))

    def finish(self):
        return self._receive()

    def __getattr__(self, operation):
        if operation.startswith("_") or not hasattr(Actor, "do_" + operation):
            raise AttributeError(operation)

        def call(*arguments):
            self.start(operation, *arguments)
            return self.finish()
        return call

    # --- in the process itself ---

    def _keep(self, made):
        self.next += 1
        self.sockets[self.next] = made
        return self.next

    @staticmethod
    def _family(address):
        return socket.AF_INET6 if ":" in address else socket.AF_INET

    def do_connect(self, address, port, seconds=5, source_port=0):
        """TCP: ("connected", handle), or the outcome alone."""
        made = socket.socket(self._family(address))
        made.settimeout(seconds)
        if source_port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(("", source_port))
        try:
            made.connect((address, port))
        except OSError as error:
            made.close()
            return name_of(error), 0
        return "connected", self._keep(made)

    def do_make(self, address):
        """A socket for `address` that connects to nothing yet."""
        return self._keep(socket.socket(self._family(address)))

    def do_join(self, handle, address, port, seconds=5):
        """Connects one that was made before: the outcome."""
        self.sockets[handle].settimeout(seconds)
        self.sockets[handle].connect((address, port))
        return "connected"

    def do_reach(self, address, port, seconds=5):
        """TCP: the outcome; nothing is kept."""
        outcome, handle = self.do_connect(address, port, seconds)
        if handle:
            self.sockets.pop(handle).close()
        return outcome

    def do_listen(self, address, port=0):
        made = socket.socket(self._family(address))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(64)
        return self._keep(made), made.getsockname()[1]

    def do_accept(self, handle, seconds=5):
        self.sockets[handle].settimeout(seconds)
        made, peer = self.sockets[handle].accept()
        return "connected", self._keep(made), peer

    def do_send(self, handle, size, seconds=5):
        """Queues up to `size` bytes without waiting; how many went."""
        made = self.sockets[handle]
        made.setblocking(False)
        sent = 0
        while sent < size:
            try:
                sent += made.send(b"x" * min(65536, size - sent))
            except BlockingIOError:
                break
        return sent

    def do_receive(self, handle, seconds=5):
        """The bytes that came, or the outcome; b"" is the end."""
        self.sockets[handle].settimeout(seconds)
        return self.sockets[handle].recv(65536)

    def do_option(self, handle, level, option, value):
        self.sockets[handle].setsockopt(level, option, value)
        return "done"

    def do_drop(self, handle):
        """Closes a socket."""
        self.sockets.pop(handle).close()
        return "done"

    def do_ask_twice(self, address, port, seconds=5):
        """UDP: two datagrams at once from one socket, as for A and AAAA; an answer
        to either counts."""
        made = socket.socket(self._family(address), socket.SOCK_DGRAM)
        with made:
            made.settimeout(seconds)
            made.connect((address, port))
            made.send(b"first")
            made.send(b"second")
            made.recv(65536)
        return "connected"

    def do_ask(self, address, port, seconds=5, data=b"question"):
        """UDP: "connected" if an answer came."""
        made = socket.socket(self._family(address), socket.SOCK_DGRAM)
        with made:
            made.settimeout(seconds)
            made.connect((address, port))
            made.send(data)
            made.recv(65536)
        return "connected"

    def do_ping(self, address, seconds=5):
        protocol = socket.IPPROTO_ICMPV6 if ":" in address else socket.IPPROTO_ICMP
        kind = 128 if ":" in address else 8
        made = socket.socket(self._family(address), socket.SOCK_DGRAM, protocol)
        with made:
            made.settimeout(seconds)
            made.connect((address, 0))
            made.send(struct.pack("!BBHHH", kind, 0, 0, 0, 1) + b"12345678")
            made.recv(65536)
        return "connected"

    def do_storm(self, address, port):
        """Sends datagrams, and tries TCP, as fast as it can until told otherwise.
        How many attempts it made."""
        datagrams = socket.socket(self._family(address), socket.SOCK_DGRAM)
        attempts = 0
        while not select.select([self.channel], [], [], 0)[0]:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    datagrams.sendto(b"x", (address, port))
                attempts += 1
            made = socket.socket(self._family(address))
            made.setblocking(False)
            with contextlib.suppress(OSError):
                made.connect((address, port))
            made.close()
            attempts += 1
        self._receive()
        return attempts

    def storm_begin(self, address, port):
        self.start("storm", address, port)

    def storm_end(self):
        self.start("stop")
        return self.finish()

    def do_leave(self):
        """Ends the process as it is, sockets open."""
        os._exit(0)

    def leave(self):
        self.start("leave")
        os.waitpid(self.pid, 0)
        self.pid = 0

    def close(self):
        self.channel.close()
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


class World:
    def __init__(self, router_namespace="host", loopback=True, dns=((RESOLVER, 53),)):
        self.stack = contextlib.ExitStack()
        with contextlib.ExitStack() as stack:
            mount_cgroup2()
            self.folder = tempfile.mkdtemp(prefix="netproof-test-", dir="/run")
            stack.callback(shutil.rmtree, self.folder)
            # Nobody has this uid, nor any of the subordinate ones.
            self.uid = 3_000_000 + NUMBER
            self.subordinate = 1_000_000_000 + NUMBER * 128
            self.table = f"netproof_test_{NUMBER}"
            self._make_groups(stack)
            self._write_site(router_namespace, loopback, dns)
            self._make_networks(stack)
            self.stack = stack.pop_all()

    def _make_groups(self, stack):
        self.unit = f"netproof-test-{NUMBER}-worker.service"
        manager = f"user.slice/user-{self.uid}.slice/user@{self.uid}.service"
        paths = {"worker": f"system.slice/{self.unit}",
                 "manager": manager,
                 "daemon": f"{manager}/app.slice/docker.service",
                 "third": f"system.slice/netproof-test-{NUMBER}-third.service"}
        for name, path in paths.items():
            group = Group(path)
            stack.callback(group.close)
            setattr(self, name, group)

    def _write_site(self, router_namespace, loopback, dns):
        with open(os.path.join(TOP, "fixtures/sites/netproof.json"), encoding="utf-8") as f:
            site = json.load(f)
        site.update(table=self.table, worker_unit=self.unit,
                    router={"address": ROUTER[0], "port": ROUTER[1]},
                    proxy={"address": PROXY[0], "port": PROXY[1]},
                    router_namespace=router_namespace,
                    profile=os.path.join(self.folder, "profile.json"))
        self.site = self.write("site.json", site)
        self.endpoints = self.write("endpoints.json", {
            "schema": "netproof.endpoints.v1",
            "trusted_tcp": [{"address": TRUSTED, "port": 443},
                            {"address": TRUSTED, "port": 8080}],
            "trusted_dns": [{"address": a, "port": p} for a, p in dns],
            "trusted_loopback_tcp": loopback})
        self.subuid = self.write("subuid", f"netproof:{self.subordinate}:64\n", 0o644)

    def _make_networks(self, stack):
        self.host = stack.enter_context(netns.Namespace())
        self.outside = stack.enter_context(netns.Namespace())
        self.link = netns.connect_pair(
            self.host, [f"{HOST}/24", f"{HOST6}/64"],
            self.outside, [f"{GATEWAY}/24", f"{GATEWAY6}/64"])
        self.host.ip("address", "add", f"{ROUTER[0]}/32", "dev", "lo")
        self.host.ip("route", "add", "default", "via", GATEWAY)
        self.host.ip("-6", "route", "add", "default", "via", GATEWAY6)
        for address in (TRUSTED, OTHER, RESOLVER):
            self.outside.ip("address", "add", f"{address}/32", "dev", "lo")
        self.outside.ip("-6", "address", "add", f"{OUTSIDE6}/128", "dev", "lo", "nodad")
        self.outside.ip("route", "add", f"{ROUTER[0]}/32", "via", HOST)
        self.outside.ip("-6", "route", "add", "default", "via", HOST6)
        # Who may send echo requests without a raw socket: every group.
        self.host.sysctl("net/ipv4/ping_group_range", "0 2147483647")

    def write(self, name, content, mode=0o600):
        path = os.path.join(self.folder, name)
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def actor(self, uid, group=None, namespace=None):
        made = Actor(namespace or self.host, uid, group)
        self.stack.callback(made.close)
        return made

    def policy(self, *arguments, check=True, **options):
        """Runs net-policy in the host's namespace; what it printed."""
        done = self.host.run([NET_POLICY, *arguments], check=check, **options)
        return done.stdout if check else done

    def of_site(self, *more):
        return ["--site", self.site, "--uid", str(self.uid), "--subuid", self.subuid, *more]

    def issue(self, window=250, name="profile.json", **changes):
        """A fresh profile's path. `changes` replace what `issue` wrote."""
        path = os.path.join(self.folder, name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.policy("issue", "--site", self.site, "--endpoints", self.endpoints,
                    "--window", str(window), "--out", path)
        if changes:
            with open(path, encoding="utf-8") as file:
                profile = json.load(file)
            profile.update(changes)
            self.write(name, profile)
        return path

    def compile(self, profile, now=None, *more):
        at = [] if now is None else ["--now", str(now)]
        return self.policy("compile", "--profile", profile, *self.of_site(*at, *more))

    def guard_text(self, *more):
        return self.policy("guard", *self.of_site(*more))

    def load(self, text):
        self.host.run([netns.NFT, "-f", "-"], input=text)

    def open_window(self, window=250, now=None, **changes):
        """Loads a fresh profile's policy; its path."""
        profile = self.issue(window, **changes)
        self.load(self.compile(profile, now))
        return profile

    def revoke(self):
        self.policy("revoke", *self.of_site())

    def listing(self):
        """The table as nft lists it."""
        done = self.host.run([netns.NFT, "-j", "list", "table", "inet", self.table],
                             env={"PATH": "/usr/sbin:/usr/bin", "TZ": "UTC"})
        return json.loads(done.stdout)["nftables"]

    def rejected(self):
        """Packets that the policy's or guard's rejecting rules have counted."""
        return sum(part["counter"]["packets"] for item in self.listing()
                   if "rule" in item for part in item["rule"]["expr"]
                   if "counter" in part
                   and any("reject" in other for other in item["rule"]["expr"]))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stack.close()


class EchoServer:
    """Answers every datagram that comes to an address, from a process of its own."""

    def __init__(self, namespace, address, port, family=socket.AF_INET):
        self.socket = namespace.socket(family, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.pid = os.fork()
        if self.pid == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            netns.die_with_parent()
            while True:
                data, peer = self.socket.recvfrom(65536)
                self.socket.sendto(data, peer)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()
