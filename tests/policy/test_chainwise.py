#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A listing made chain by chain is, byte for byte, what "nft -j list table" prints; and
where it could be anything else, the table is listed as a whole."""
import os
import re
import resource
import unittest

import world as w
from world import netns

import nfnetlink as nf

TESTS = os.path.join(w.TOP, os.environ.get("BUILD", "build"), "tests")
LIST = os.path.join(TESTS, "list_table")
COMPARE = os.path.join(TESTS, "compare_text")
WHOLE = 3  # exit status of list_table: to be listed as a whole

TABLE = """
add table inet t
add counter inet t hits
add quota inet t some { over 100 bytes }
add counter inet t more
add set inet t timed { type uid; flags timeout; elements = { 5 timeout 1h }; }
add map inet t verdicts { type uid : verdict; elements = { 5 : accept }; }
add set inet t empty { type uid; }
add set inet t filled { type uid; flags dynamic; }
add map inet t kinds { type uid : counter; elements = { 5 : "hits" }; }
add set inet t counting { type ipv4_addr; counter; elements = { 1.2.3.4 }; }
add set inet t ranges { type ipv4_addr; flags interval; elements = { 10.0.0.0/8 }; }
add chain inet t late { type filter hook output priority 5; policy accept; }
add chain inet t early { type filter hook output priority -5; policy drop; }
add chain inet t plain
add chain inet t bare
add rule inet t late meta skuid { 1, 2 } counter accept
add rule inet t late meta skuid vmap { 1 : jump plain, 2 : drop } comment "a } b ], {"
add rule inet t early ip daddr @ranges counter name hits accept
add rule inet t plain meta skuid 1 return
add rule inet t early tcp dport { 1-5, 7 } reject with icmpx admin-prohibited
add rule inet t late update @filled { meta skuid limit rate 10/second } accept
add table inet u
add chain inet u late
add rule inet u late drop
add set inet u timed { type uid; elements = { 7 }; }
add table ip t
add chain ip t late
"""


def without_time(listing):
    return re.sub(rb'"expires": \d+', b"", listing)


def listing_of(space, table="t"):
    return space.run([netns.NFT, "-j", "list", "table", "inet", table],
                     env={"PATH": "/usr/sbin:/usr/bin", "TZ": "UTC"}).stdout


def in_pieces(space, table="t", rules_min=0):
    return space.run([LIST, table, str(rules_min)], check=False)


class Base(unittest.TestCase):
    def setUp(self):
        self.space = netns.Namespace()
        self.addCleanup(self.space.close)

    def load(self, text):
        self.space.run([netns.NFT, "-f", "-"], input=text.encode())

    def assert_same(self):
        done = in_pieces(self.space)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(without_time(done.stdout), without_time(listing_of(self.space)))

    def assert_whole(self):
        before = self.space.run([netns.NFT, "-s", "list", "tables"]).stdout
        done = in_pieces(self.space)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (WHOLE, b"", b""))
        self.assertEqual(self.space.run([netns.NFT, "-s", "list", "tables"]).stdout, before)


class PiecesTest(Base):
    def test_all_that_a_table_can_have(self):
        self.load(TABLE)
        self.assert_same()

    def test_each_object_alone(self):
        """Each line that nothing else refers to, in a table with a chain."""
        lines = [line for line in TABLE.split("\n") if " inet t " in line
                 and not re.search(r"rule|@|\"hits\"", line)]
        self.assertGreater(len(lines), 10)
        for line in lines:
            with self.subTest(line):
                self.load("add table inet t\ndelete table inet t\nadd table inet t\n"
                          "add chain inet t c\nadd rule inet t c accept\n" + line)
                self.assert_same()

    def test_chains_of_any_age(self):
        self.load("add table inet t\n" + "".join(
            f"add chain inet t c{n}\nadd rule inet t c{n} meta skuid {n}\n"
            for n in (5, 3, 9, 1)) + "delete chain inet t c3\nadd chain inet t c2\n"
            "insert rule inet t c9 drop\nadd chain inet t a\n")
        self.assert_same()

    def test_a_meter(self):
        self.load("add table inet t\nadd chain inet t c\nadd rule inet t c meter m "
                  "{ ip saddr limit rate 1/second } accept")
        self.assert_same()

    def test_a_flowtable_where_the_kernel_has_them(self):
        self.load("add table inet t\nadd chain inet t c\nadd rule inet t c accept")
        self.space.run([netns.NFT, "add flowtable inet t f "
                        "{ hook ingress priority 0; devices = { lo }; }"], check=False)
        self.assert_same()


class WholeTest(Base):
    def test_no_chain(self):
        self.load("add table inet t\nadd set inet t s { type uid; }")
        self.assert_whole()

    def test_a_small_table_and_few_rules_a_chain(self):
        self.load("add table inet t\nadd chain inet t a\nadd chain inet t b\n"
                  + "add rule inet t a accept\n" * 40)
        for rules_min, status in ((0, 0), (40, 0), (41, WHOLE)):
            with self.subTest(rules_min):
                self.assertEqual(in_pieces(self.space, "t", rules_min).returncode, status)
        self.load("add set inet t s { type uid; }\n" + "".join(
            f"add chain inet t c{n}\n" for n in range(3)))
        self.assertEqual(in_pieces(self.space, "t", 40).returncode, WHOLE)

    def test_words_of_the_language(self):
        for name in ("counter", "inet", "accept", "rule"):
            with self.subTest(name):
                with self.space.entered():
                    link = nf.Link()
                with link:
                    link.commit(nf.table("t"), nf.delete_table("t"), nf.table("t"),
                                nf.chain("t", name))
                self.assert_whole()

    def test_a_name_that_is_a_command(self):
        for name in ("c; delete table inet u", "c\ndelete table inet u", "c\udcff", "",
                     "a b", 'c"', "c}", "-c", "\u00e9"):
            for make in (lambda n: [nf.chain("t", n)],
                         lambda n: [nf.chain("t", "c"), nf.new_set("t", n, 24, 4)]):
                with self.subTest(name=ascii(name)):
                    with self.space.entered():
                        link = nf.Link()
                    with link:
                        link.commit(nf.table("u"), nf.table("t"), nf.delete_table("t"),
                                    nf.table("t"), *make(name))
                    self.assert_whole()

    def test_a_chain_inside_a_rule(self):
        self.load("add table inet t\nadd chain inet t c\n"
                  "add rule inet t c jump { accept; drop; }")
        self.assert_whole()

    def test_a_rule_that_the_library_does_not_know(self):
        """It is listed without its expression, or not at all: not in pieces, then, or as
        nft does."""
        with self.space.entered():
            link = nf.Link()
        with link:
            inner = nf.expression("inner", nf.attribute(1, 0), nf.attribute(2, 1),
                                  nf.attribute(3, 0x7), nf.attribute(4, 8),
                                  nf.expression("meta", nf.attribute(1, 2)))
            try:
                link.commit(nf.table("t"), nf.chain("t", "c"),
                            nf.rule("t", "c", nf.expression("counter")),
                            nf.rule("t", "c", inner))
            except OSError:
                link.commit(nf.table("t"), nf.chain("t", "c"),
                            nf.rule("t", "c", nf.expression("last")))
        done = in_pieces(self.space)
        self.assertIn(done.returncode, (0, WHOLE), done.stderr)
        if done.returncode == 0:
            self.assertEqual(done.stdout, listing_of(self.space))


class CompareTest(Base):
    """On the way that net-policy diff goes, a table big enough to be listed so."""

    def test_equal_and_one_rule_otherwise(self):
        text = "add table inet t\nadd set inet t s { type uid; elements = { 1, 2 }; }\n"
        text += "".join(f"add chain inet t c{n}\n" for n in range(9))
        rules = [f"add rule inet t c{n % 9} meta skuid {n + 1} counter accept\n"
                 for n in range(9000)]
        text += "".join(rules)
        path = f"/proc/self/fd/{self.keep(text)}"
        self.load(text)
        done = in_pieces(self.space, "t", 8192)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, listing_of(self.space))
        self.assert_compared(path, 0, "")
        handle = re.search(rb'"rule": \{[^}]*"chain": "c7", "handle": (\d+)',
                           done.stdout).group(1).decode()
        self.load(f'replace rule inet t c7 handle {handle} meta skuid 8 counter accept '
                  'comment "x"')
        self.assert_compared(path, 3, 'of the listing differs, and the kernel form does not')
        self.load(f"replace rule inet t c7 handle {handle} meta skuid 9 counter accept")
        self.assert_compared(path, 3, "chain c7: rule 1 differs")

    def test_memory_that_ends(self):
        """Wherever it ends, it is "could not tell": never equal, never different."""
        text = "add table inet t\nadd chain inet t c\nadd chain inet t d\n" + "".join(
            f"add rule inet t {'cd'[n % 2]} meta skuid {n + 1} counter accept\n"
            for n in range(9000))
        fd = self.keep(text)
        self.load(text)
        seen = set()
        for mib in (2, 6, 12, 20, 40, 512):
            limit = mib << 20
            done = self.space.run(
                [COMPARE, "t", f"/proc/self/fd/{fd}"], check=False, pass_fds=[fd],
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
            with self.subTest(mib):
                # 2: of the test's own program, which cannot read its text.
                self.assertIn(done.returncode, (0, 2, 4), done.stdout + done.stderr)
                self.assertEqual(done.stdout, b"")
            seen.add(done.returncode)
        self.assertGreaterEqual(seen, {0, 4})

    def keep(self, text):
        fd = os.memfd_create("text")
        self.addCleanup(os.close, fd)
        os.write(fd, text.encode())
        return fd

    def assert_compared(self, path, status, text):
        fd = int(path.rsplit("/", 1)[1])
        done = self.space.run([COMPARE, "t", path], check=False, pass_fds=[fd])
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(text, done.stdout.decode())


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
