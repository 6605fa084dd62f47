#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The deny guard over netlink: the same as by text, over whatever table there is, where
libnftables dies, and where memory is short."""
import contextlib
import os
import re
import resource
import subprocess
import unittest

import world as w
from world import netns

import nfnetlink as nf

BUILD = os.path.join(w.TOP, os.environ.get("BUILD", "build"))
GUARD_LOAD = os.path.join(BUILD, "tests", "guard_load")
OUTPUT, INPUT = 3, 1  # NF_INET_LOCAL_OUT, NF_INET_LOCAL_IN
ACCEPT = nf.expression("immediate", nf.attribute(1, 0), nf.attribute(
    2, [nf.attribute(2, [nf.attribute(1, 1)])]))

# Made of what the libraries of other releases write, or nobody's: each ends a listing or
# kills nft 1.0.6 (what the release here does with it is asked of it, below).
TYPEOF_OF_A_NEWER_NFT = nf.attribute(
    13, bytes([3, 14, 0, 4, 99, 0, 0, 0, 1, 6, 0, 4, 1, 0, 0, 0]))
FOREIGN = {
    "a set of a newer nft": [nf.table("foreign"), nf.new_set(
        "foreign", "s", 7, 4, 0, TYPEOF_OF_A_NEWER_NFT)],
    "a table's name that is not UTF-8": [nf.table("a\udcff")],
    "a chain's name that is not UTF-8": [nf.table("foreign"), nf.chain("foreign", "\udcff")],
    "a set's name that is not UTF-8": [nf.table("foreign"), nf.new_set(
        "foreign", "\udcff", 7, 4)],
    "names of nft's own words": [nf.table("table"), nf.chain("table", "}\n{ chain"),
                                 nf.new_set("table", "elements = {", 7, 4)],
    "a dormant table": [nf.table("foreign", nf.DORMANT), nf.chain("foreign", "c", OUTPUT)],
    "an owner's table": [nf.table("foreign", nf.OWNER), nf.chain("foreign", "c", OUTPUT)],
    "a set of an unknown type": [nf.table("foreign"), nf.new_set("foreign", "s", 63, 4),
                                 nf.elements("foreign", "s", nf.element(b"abcd"))],
    "an expression of a newer kernel": [
        nf.table("foreign"), nf.chain("foreign", "c", OUTPUT), nf.rule(
            "foreign", "c", nf.expression(
                "inner", nf.attribute(1, 0), nf.attribute(2, 1), nf.attribute(3, 15),
                nf.attribute(4, 8), nf.attribute(5, [
                    nf.attribute(1, "payload"), nf.attribute(2, [
                        nf.attribute(1, 1), nf.attribute(2, 1), nf.attribute(3, 16),
                        nf.attribute(4, 4)])])))],
}
# With which of them the library here must die, or this test shows nothing.
DEADLY_TO_LOAD = {"a set of a newer nft"}
DEADLY_TO_LIST = {"a set of a newer nft", "a table's name that is not UTF-8",
                  "a chain's name that is not UTF-8", "a set's name that is not UTF-8"}


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = w.World()
        cls.addClassCleanup(cls.world.stack.close)
        cls.guard = cls.world.guard_text().decode()

    def setUp(self):
        self.world.host.run([netns.NFT, "flush", "ruleset"])

    def link(self):
        with self.world.host.entered():
            made = nf.Link()
        self.addCleanup(made.close)
        return made

    def form(self, *more):
        return self.world.policy("kernel-form", "--table", self.world.table, *more).decode()

    def by_text(self):
        """The form of the guard that libnftables makes, in a namespace of its own."""
        with netns.Namespace() as other:
            other.nft(self.guard)
            return other.run([w.NET_POLICY, "kernel-form", "--table",
                              self.world.table]).stdout.decode()

    def assert_guard(self):
        self.assertEqual(self.form("--without-inert"), self.by_text())

    def revoke(self, **options):
        return self.world.policy("revoke", *self.world.of_site(), check=False, **options)

    def assert_revoked(self, **options):
        done = self.revoke(**options)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assert_guard()


class SameTest(Base):
    RANGES = {
        "a user alone": ["1000-1000"],
        "a user and a range": ["1000-1000", "100000-165535"],
        "ranges that touch": ["1000-1000", "1001-2000", "2001-2001"],
        "ranges that overlap": ["1000-3000", "2000-4000", "1500-1600"],
        "in another order": ["100000-165535", "1000-1000", "50-60"],
        "the highest": ["4294967294-4294967294"],
        "the lowest": ["1-1"],
        "as many as there can be": [f"{n * 100000}-{n * 100000 + 65535}"
                                    for n in range(1, 65)],
    }

    def test_text_and_netlink_make_the_same(self):
        for name, ranges in self.RANGES.items():
            with self.subTest(name), netns.Namespace() as space:
                pairs = sorted(tuple(int(n) for n in r.split("-")) for r in ranges)
                joined = []
                for first, last in pairs:
                    if joined and first <= joined[-1][1] + 1:
                        joined[-1][1] = max(last, joined[-1][1])
                    else:
                        joined.append([first, last])
                elements = ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in joined)
                text = re.sub(r"elements = \{.*?\}", f"elements = {{ {elements} }}",
                              self.guard)
                # The backstop has a rule for each range.
                text = re.sub(r"(?m)(^add rule inet \w+ marked_output meta skuid )\S+"
                              r"( .*\n)(?:\1.*\n)*",
                              lambda rule: "".join(
                                  rule.group(1) + element + rule.group(2)
                                  for element in elements.split(", ")), text)
                space.run([GUARD_LOAD, self.world.table, *ranges])
                show = [w.NET_POLICY, "kernel-form", "--table", self.world.table]
                netlink = space.run(show).stdout
                space.run([netns.NFT, "flush", "ruleset"])
                space.nft(text)
                self.assertEqual(space.run(show).stdout.decode(), netlink.decode())


class ShapeTest(Base):
    def test_no_table(self):
        self.assert_revoked()

    def test_again_and_over_a_window(self):
        self.assert_revoked()
        before = self.chain_handles()
        self.world.open_window()
        self.assert_revoked()
        self.assert_revoked()
        self.assertEqual(self.chain_handles()[:2], before[:2],
                         "the chains were not filled in place")
        self.world.open_window()
        self.assertEqual(self.world.policy(
            "diff", *self.world.of_site("--profile", f"{self.world.folder}/profile.json")),
            f"table inet {self.world.table}: equal\n".encode())

    def chain_handles(self):
        listed = self.world.host.run([netns.NFT, "-a", "list", "table", "inet",
                                      self.world.table]).stdout.decode()
        return re.findall(r"^\tchain (\w+) \{ # handle (\d+)$", listed, re.M)

    def test_whatever_table_there_is(self):
        table = self.world.table
        shapes = {
            "empty": "",
            "dormant": "add table inet T { flags dormant; }",
            "a dormant window": self.world.compile(self.world.issue()).decode()
            + "\nadd table inet T { flags dormant; }",
            "a chain of another type": "add chain inet T output { type route hook output "
                                       "priority -310; }",
            "a chain of another priority": "add chain inet T output { type filter hook "
                                           "output priority 7; }",
            "a chain of another hook": "add chain inet T marked_output { type filter hook "
                                       "input priority -150; }",
            "a regular chain of the name": "add chain inet T output\nadd rule inet T output "
                                           "accept",
            "a chain that drops": "add chain inet T output { type filter hook output "
                                  "priority -310; policy drop; }",
            "a chain more that drops": "add chain inet T more { type filter hook output "
                                       "priority 0; policy drop; }",
            "scoped chains that are older": "add chain inet T scoped_output { type filter "
                                            "hook output priority -150; }",
            "a set of another type": "add set inet T subjects { type mark; }",
            "a map of the name": "add map inet T subjects { type uid : verdict; }",
            "sets more": "add set inet T more { type uid; }",
            "jumps and anonymous sets": "add chain inet T a\nadd chain inet T output "
            "{ type filter hook output priority -310; }\nadd rule inet T output "
            "tcp dport { 1, 2 } jump a\nadd rule inet T output meta l4proto vmap "
            "{ tcp : jump a, udp : drop }",
            "objects": "add counter inet T c\nadd quota inet T q { over 1 mbytes; }\n"
                       "add limit inet T l { rate 1/second; }",
            "elements that end": "add set inet T lease { type uid; flags timeout; "
                                 "elements = { 7 timeout 1h }; }",
            "bound sets": "add set inet T lease { type uid; }\nadd chain inet T output "
            "{ type filter hook output priority -310; }\nadd rule inet T output "
            "meta skuid @lease accept",
        }
        for name, text in shapes.items():
            with self.subTest(name):
                self.setUp()
                self.world.load((f"add table inet {table}\n"
                                 + text.replace("inet T", f"inet {table}")).encode())
                self.assert_revoked()
                self.assertEqual([c for c, _ in self.chain_handles()][:2],
                                 ["output", "marked_output"])

    def test_tables_of_other_families_stay(self):
        table = self.world.table
        for family in ("ip", "ip6", "bridge", "netdev", "arp"):
            self.world.load(f"add table {family} {table}\nadd chain {family} {table} "
                            "output".encode())
        before = self.world.host.run([netns.NFT, "list", "ruleset"]).stdout
        self.assert_revoked()
        self.world.load(f"delete table inet {table}".encode())
        self.assertEqual(self.world.host.run([netns.NFT, "list", "ruleset"]).stdout, before)

    def test_somebody_owns_our_table(self):
        link = self.link()
        link.commit(nf.table(self.world.table, nf.OWNER))
        done = self.revoke()
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"another process owns the table", done.stderr)
        self.assertEqual(self.form(), f"table inet {self.world.table} flags=0x00000002\n")
        link.close()
        self.assert_revoked()

    def test_the_guard_denies(self):
        """It is looked at elsewhere packet by packet; here, that it acts at all."""
        server = self.world.outside.listen(w.TRUSTED, 443)
        self.addCleanup(server.close)
        actor = self.world.actor(self.world.uid)
        self.assertEqual(actor.connect(w.TRUSTED, 443)[0], "connected")
        self.assert_revoked()
        self.assertEqual(actor.connect(w.TRUSTED, 443)[0], "EHOSTUNREACH")
        actor.close()

    def test_refused(self):
        for arguments, text in ((["", "7-7"], b"not a table's name"),
                                (["x" * 256, "7-7"], b"not a table's name")):
            done = self.world.host.run([GUARD_LOAD, *arguments], check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)


class ForeignTest(Base):
    def test_where_libnftables_dies(self):
        """With these tables in the kernel, nft cannot be used; revoke works."""
        for name, messages in FOREIGN.items():
            with self.subTest(name):
                self.setUp()
                link = self.link()
                link.commit(*messages)
                loaded = self.world.host.run([netns.NFT, "-f", "-"], check=False,
                                             input=self.guard.encode())
                listed = self.world.host.run([netns.NFT, "-j", "list", "ruleset"],
                                             check=False)
                if name in DEADLY_TO_LOAD:
                    self.assertLess(loaded.returncode, 0, "nft did not die")
                if name in DEADLY_TO_LIST:
                    self.assertLess(listed.returncode, 0, "nft did not die")
                self.assert_revoked()
                link.close()

    def test_the_window_is_not_opened_but_the_guard_stays(self):
        link = self.link()
        link.commit(*FOREIGN["a set of a newer nft"])
        self.assert_revoked()
        profile = self.world.issue()
        done = self.world.policy("diff", *self.world.of_site("--guard"), check=False)
        # Ours can be listed where the library looks at ours alone; if not, it is said.
        self.assertIn(done.returncode, (0, 4))
        done = self.world.policy("diff", *self.world.of_site("--profile", profile),
                                 check=False)
        self.assertEqual(done.returncode, 3)
        self.assert_guard()


class MemoryTest(Base):
    def limits(self, kind, limit):
        return lambda: resource.setrlimit(kind, (limit, limit))

    def test_little_address_space(self):
        """With less and less: the guard whole, or nothing changed; and it loads with less
        than libnftables needs."""
        self.world.open_window()
        window = self.form()
        least, least_nft = None, None
        for megabytes in range(40, 0, -1):
            limit = self.limits(resource.RLIMIT_AS, megabytes << 20)
            done = self.revoke(preexec_fn=limit)
            if done.returncode == 0:
                self.assert_guard()
                self.world.open_window()
                window = self.form()
                least = megabytes
            else:
                self.assertEqual(self.form(), window)
            done = self.world.host.run([netns.NFT, "-f", "-"], check=False,
                                       input=self.guard.encode(), preexec_fn=limit)
            if done.returncode == 0:
                least_nft = megabytes
                self.world.open_window()
                window = self.form()
        self.assertIsNotNone(least)
        self.assertLessEqual(least, least_nft)

    def test_little_heap(self):
        self.world.open_window()
        limit = self.limits(resource.RLIMIT_DATA, 1 << 20)
        done = self.world.host.run([netns.NFT, "-f", "-"], check=False,
                                   input=self.guard.encode(), preexec_fn=limit)
        self.assertNotEqual(done.returncode, 0, "nft has enough: this shows nothing")
        self.assert_revoked(preexec_fn=limit)

    def test_a_full_memory_cgroup(self):
        """Beside something that takes all there is, the kernel's own memory included."""
        with MemoryGroup(24 << 20) as group:
            self.world.open_window()
            hog = self.world.host.popen(
                ["/usr/bin/python3", "-I", "-c",
                 "held = []\nprint(1, flush=True)\nwhile True:\n"
                 "    held.append(bytearray(b'x') * 65536)\n"],
                preexec_fn=group.add, stdout=subprocess.PIPE)
            with hog.stdout:
                hog.stdout.readline()
                for _ in range(3):
                    self.world.open_window()
                    self.assert_revoked(preexec_fn=group.add)
            self.assertTrue(group.was_full(), "memory was not short: this shows nothing")
            hog.kill()
            hog.wait()


class MemoryGroup:
    """A cgroup of the memory controller, wherever it is mounted."""

    def __init__(self, limit):
        self.limit, self.name = limit, f"netproof-test-{os.getpid()}"

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            mounted = any(" - cgroup " in m and "memory" in m.rsplit(" ", 1)[1]
                          for m in mounts)
        root = os.path.join("/run", self.name + "-memory")
        os.mkdir(root)
        self.stack.callback(os.rmdir, root)
        try:
            subprocess.run(["/usr/bin/mount", "-t", "cgroup", "-o", "memory", "none", root],
                           check=True, stderr=subprocess.DEVNULL)
            self.stack.callback(subprocess.run, ["/usr/bin/umount", root], check=True)
            limit = "memory.limit_in_bytes"
        except subprocess.CalledProcessError:
            if mounted:
                raise
            root, limit = "/sys/fs/cgroup", "memory.max"
            with open(f"{root}/cgroup.subtree_control", "w", encoding="ascii") as file:
                file.write("+memory")
        self.path = os.path.join(root, self.name)
        os.mkdir(self.path)
        self.stack.callback(self.remove)
        with open(os.path.join(self.path, limit), "w", encoding="ascii") as file:
            file.write(str(self.limit))
        return self

    def add(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")

    def was_full(self):
        for name, pattern in (("memory.failcnt", r"^([1-9]\d*)$"),
                              ("memory.events", r"^max ([1-9]\d*)$")):
            with contextlib.suppress(FileNotFoundError):
                with open(os.path.join(self.path, name), encoding="ascii") as file:
                    return re.search(pattern, file.read(), re.M) is not None
        return False

    def remove(self):
        deadline = w.time.monotonic() + 30
        while True:
            try:
                os.rmdir(self.path)
                return
            except OSError:
                if w.time.monotonic() > deadline:
                    raise
                w.time.sleep(0.01)

    def __exit__(self, *error):
        self.stack.close()


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
