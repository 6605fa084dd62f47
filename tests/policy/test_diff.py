#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-policy diff: every single change of a loaded policy is found and named, nothing that
means nothing is reported, and what cannot be told is not guessed."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time
import unittest

import test_chainwise as chainwise
import world as w
from world import netns

import nfnetlink as nf

WINDOW = 250

# What a rule is made of, longest first: each is taken out, one at a time.
STATEMENTS = re.compile(
    r"""meta\ time\ \S+ | meta\ skuid\ \S+ | socket\ cgroupv2\ level\ \d\ @\w+
    | ip\ [sd]addr\ \S+ | (?:tcp|udp)\ [sd]port\ \d+
    | tcp\ flags\ &\ \([^)]*\)\ ==\ \w+ | ct\ state\ \w+ | ct\ status\ \w+
    | ct\ direction\ \w+ | ct\ mark\ set\ \S+ | ct\ mark\ &\ \S+\ ==\ \S+
    | ct\ mark\ &\ \S+\ (?:!=\ )?@\w+ | ct\ mark\ \S+ | [oi]ifname\ "lo"
    | meta\ l4proto\ tcp | counter | accept | reject\ with\ icmpx\ admin-prohibited""",
    re.VERBOSE)


def once(pattern, replacement, text, which=0):
    """Replaces one occurrence of a pattern, which must be there."""
    found = list(re.finditer(pattern, text, re.M))
    if len(found) <= which:
        raise AssertionError(f"{pattern!r} is not in the policy")
    match = found[which]
    return text[:match.start()] + match.expand(replacement) + text[match.end():]


def swap_lines(first, second, text):
    lines = text.split("\n")
    a = next(i for i, line in enumerate(lines) if re.search(first, line))
    b = next(i for i, line in enumerate(lines) if re.search(second, line) and i != a)
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def edit(pattern, replacement, which=0):
    return lambda text: once(pattern, replacement, text, which)


def then(command):
    """What is done to the loaded table; T stands for its name."""
    return lambda text: text + "\n" + command + "\n"


# name: (change of the transaction's text, what the report must say). T is the table.
MUTATIONS = {
    # chains
    "priority of output": (edit(r"(output priority )-310", r"\g<1>-311"),
                           ["chain output differs", "hook priority: must be -310, is -311"]),
    "priority of marked_output": (
        edit(r"(marked_output \{ type filter hook output priority )-150", r"\g<1>-149"),
        ["chain marked_output differs", "must be -150, is -149"]),
    "priority of scoped_output": (
        edit(r"(scoped_output \{ type filter hook output priority )-150", r"\g<1>-400"),
        ["chain scoped_output differs", "must be -150, is -400"]),
    "priority of scoped_input": (
        edit(r"(scoped_input \{ type filter hook input priority )-150", r"\g<1>0"),
        ["chain scoped_input differs", "must be -150, is 0"]),
    "hook of scoped_output": (edit(r"(scoped_output \{ type filter hook )output",
                                   r"\1input"),
                              ["chain scoped_output differs", "hook number: must be 3, is 1"]),
    "hook of scoped_input": (edit(r"(scoped_input \{ type filter hook )input", r"\1prerouting"),
                             ["chain scoped_input differs", "hook number: must be 1, is 0"]),
    "type of scoped_output": (edit(r"(scoped_output \{ type )filter", r"\1route"),
                              ["chain scoped_output differs", "type: must be filter, is route"]),
    "policy of output": (edit(r"(hook output priority -310; policy )accept", r"\1drop"),
                         ["chain output differs", "policy: must be 1, is 0"]),
    "policy of scoped_input": (edit(r"(hook input priority -150; policy )accept", r"\1drop"),
                               ["chain scoped_input differs", "policy: must be 1, is 0"]),
    "a base chain made a regular one": (
        edit(r"(chain inet \w+ scoped_input) \{.*\}", r"\1"),
        ["chain scoped_input differs", "kernel form: lacks hook number 1"]),
    "the age of two chains": (lambda text: swap_lines(
        r"^add chain.* marked_output ", r"^add chain.* scoped_output ", text),
        ["chain marked_output differs", "older"]),
    "a chain more": (then("add chain inet T extra"), ["chain extra is not of the policy"]),
    "a base chain more": (then("add chain inet T extra { type filter hook output "
                               "priority 0; policy accept; }"),
                          ["chain extra is not of the policy"]),
    "a rule in a chain more": (then("add chain inet T extra\nadd rule inet T extra accept"),
                               ["chain extra is not of the policy"]),
    "a chain missing": (lambda text: re.sub(r"^add (?:chain|rule) inet \w+ scoped_input.*\n",
                                            "", text, flags=re.M),
                        ["chain scoped_input is missing"]),
    "a rule in the guard's chain": (then("add rule inet T output accept"),
                                    ["chain output: rule 1 is not of the policy"]),
    # rules: whole ones
    "an accept at the head": (then("insert rule inet T scoped_output accept"),
                              ["chain scoped_output: rule 1 is not of the policy", "accept"]),
    "an accept at the end": (then("add rule inet T scoped_output counter accept"),
                             ["chain scoped_output: rule ", "is not of the policy"]),
    "a rule twice": (lambda text: once(r"^(add rule.* scoped_output .*@worker.*\n)", r"\1\1",
                                       text), ["chain scoped_output: rule ",
                                               "is not of the policy"]),
    "the reject of subjects missing": (
        edit(r"^add rule.* scoped_output meta skuid @subjects.*\n", ""),
        ["chain scoped_output: rule ", "is missing", "meta skuid @subjects"]),
    "the reject of marks missing": (
        edit(r"^add rule.* scoped_output ct mark & 0xfff00000.*reject.*\n", ""),
        ["chain scoped_output: rule ", "is missing", "ct mark 0x4e500000/12"]),
    "the backstop missing": (edit(r"^add rule.* marked_output meta skuid.*\n", ""),
                             ["chain marked_output: rule 2 is missing"]),
    "two rules in the other order": (lambda text: swap_lines(
        r"scoped_output meta skuid @subjects", r"scoped_output meta time.*@flows", text),
        ["is in the wrong place: it must be rule "]),
    "the reject before the grants": (lambda text: re.sub(
        r"(?ms)(^add rule inet \w+ scoped_output .*?\n)(.*?)(^add rule inet \w+ "
        r"scoped_output meta skuid @subjects[^\n]*\n)", r"\3\1\2", text, count=1),
        ["is in the wrong place: it must be rule "]),
    "a rule of two in one": (then("add rule inet T scoped_input counter counter"),
                             ["chain scoped_input: rule ", "is not of the policy"]),
    # rules: values
    "the window's beginning": (edit(r"meta time (\d+)-(\d+)", r"meta time 1-\2"),
                               ["rule 1 differs", "cmp data: must be "]),
    "the window's end": (edit(r"meta time (\d+)-(\d+)", r"meta time \1-4000000000", 3),
                         ["chain scoped_output: rule 4 differs", "cmp data: must be "]),
    "the worker's level": (edit(r"level 2 @worker", "level 1 @worker"),
                           ["socket level: must be 2, is 1"]),
    "the daemon's level": (edit(r"level 3 @daemon", "level 2 @daemon"),
                           ["socket level: must be 3, is 2"]),
    "a worker's grant for the daemon": (edit(r"level 2 @worker ip daddr",
                                             "level 2 @daemon ip daddr"),
                                        ["lookup set: must be worker, is daemon"]),
    "the lease inverted": (edit(r"meta skuid @lease", "meta skuid != @lease"),
                           ["lookup flags: must be 0x00000000, is 0x00000001"]),
    "subjects for the lease": (edit(r"meta skuid @lease", "meta skuid @subjects"),
                               ["must have lookup set lease, has byteorder sreg 1"]),
    "an address": (edit(r"ip daddr 198\.51\.100\.1 ", "ip daddr 198.51.100.2 "),
                   ["ip daddr 198.51.100.2", "cmp data: must be c6336401, is c6336402"]),
    "an address made a network": (edit(r"ip daddr 198\.51\.100\.1 ",
                                       "ip daddr 198.51.100.0/24 "),
                                  ["payload length: must be 4, is 3"]),
    "a source for a destination": (edit(r"ip daddr 198\.51\.100\.1 ",
                                        "ip saddr 198.51.100.1 "),
                                   ["payload offset: must be 16, is 12"]),
    "a port": (edit(r"tcp dport 443 ", "tcp dport 444 "),
               ["tcp dport 444", "cmp data: must be 01bb, is 01bc"]),
    "a port made a range": (edit(r"tcp dport 443 ", "tcp dport 443-444 "),
                            ["must be ", "tcp dport 443-444"]),
    "a port made a set": (edit(r"tcp dport 443 ", "tcp dport { 443, 444 } "),
                          ["tcp dport { 443, 444 }"]),
    "udp for tcp": (edit(r"tcp dport 443 tcp flags & \(.*?\) == syn ", "udp dport 443 "),
                    ["udp dport 443"]),
    "flags of the first packet": (edit(r"(fin \| syn \| rst \| ack\)) == syn",
                                       r"\1 == ack"), ["cmp data: must be 02, is 10"]),
    "the state": (edit(r"ct state new", "ct state established"),
                  ["bitwise mask: must be 08000000, is 02000000"]),
    "the direction": (edit(r"ct direction original", "ct direction reply"),
                      ["cmp data: must be 00, is 01"]),
    "the mark that is set": (edit(r"ct mark set 0x(....)....", r"ct mark set 0x\g<1>ffff"),
                             ["immediate data: must be "]),
    "the mark that is matched": (edit(r"(ct mark & 0xfff00000 == 0x4e)5", r"\g<1>6"),
                                 ["cmp data: must be 0000504e, is 0000604e"]),
    "the mask of a mark": (edit(r"ct mark & 0xfff00000 ==", "ct mark & 0xffff0000 =="),
                           ["bitwise mask: must be 0000f0ff, is 0000ffff"]),
    "the mask of the flows": (edit(r"ct mark & 0xfff3ffff @flows",
                                   "ct mark & 0xffffffff @flows"), ["chain scoped_output"]),
    "the packet's mark": (edit(r"ct mark set", "meta mark set"), ["meta mark set"]),
    "loopback by another name": (edit(r'oifname "lo"', 'oifname "l*"'), ["cmp data: must be "]),
    "return for accept": (edit(r"counter accept", "counter return"),
                          ["verdict code: must be 1, is -5"]),
    "drop for reject": (edit(r"reject with icmpx admin-prohibited", "drop"),
                        ["has immediate dreg 0"]),
    "another reject": (edit(r"icmpx admin-prohibited", "icmpx no-route"),
                       ["reject code: must be 3, is 0"]),
    "a reset for a reject": (edit(r"(meta skuid @subjects counter reject with) icmpx "
                                  r"admin-prohibited", r"meta l4proto tcp \1 tcp reset"),
                             ["reject with tcp reset"]),
    "a log": (edit(r"counter reject", 'counter log prefix "x" reject'), ['log prefix "x"']),
    "a limit": (edit(r"counter reject", "limit rate 10/second counter reject"), ["limit"]),
    "a limit's burst": (edit(r"counter accept", "limit rate 10/second burst 7 packets "
                             "counter accept"), ["limit rate 10/second burst 7"]),
    "a trace": (edit(r"counter accept", "meta nftrace set 1 counter accept"),
                ["meta nftrace set 1"]),
    "a comment": (edit(r"counter accept", 'counter accept comment "harmless"'),
                  ["entry ", "of the listing differs", "harmless"]),
    "a verdict map": (edit(r"tcp dport 443 (.*) accept", r"\1 tcp dport vmap { 443 : accept }"),
                      ["vmap { 443 : accept }"]),
    "a jump into a chain more": (
        lambda text: once(r"^(flush table)", r"add chain inet T extra\n\1", text).replace(
            "counter accept", "counter jump extra", 1),
        ["chain extra is not of the policy", "jump extra"]),
    # sets
    "the type of a set": (edit(r"add set inet \w+ daemon \{ type cgroupsv2",
                               "add set inet T daemon { type mark", 1), None),
    "a set's default time-out": (edit(r"(lease \{ type uid; flags timeout;)( elements)",
                                      r"\1 timeout 1h;\2"),
                                 ["set lease differs", "timeout 3600000"]),
    "a default time-out below a second": (
        edit(r"(lease \{ type uid; flags timeout;)( elements)", r"\1 timeout 500ms;\2"),
        ["set lease differs", "timeout 500"]),
    "a set's collection": (edit(r"(lease \{ type uid; flags timeout;)( elements)",
                                r"\1 gc-interval 1h;\2"), ["set lease differs", "gc_interval"]),
    "a set's size": (edit(r"(lease \{ type uid; flags timeout;)( elements)",
                          r"\1 size 7;\2"), ["set lease differs", "size"]),
    "a set's policy": (edit(r"(lease \{ type uid; flags timeout;)( elements)",
                            r"\1 policy memory;\2"), ["set lease differs", "policy"]),
    "a dynamic set": (edit(r"(lease \{ type uid; flags )timeout(; elements)",
                           r"\1dynamic,timeout\2"),
                      ["set lease differs", "flags: must be 0x00000010, is 0x00000030"]),
    "flows a packet can add to": (
        edit(r"(flows \{ type mark; flags )timeout(; elements)", r"\1dynamic,timeout\2"),
        ["set flows differs", "flags"]),
    "subjects not constant": (edit(r"(subjects \{ type uid; flags )constant,interval(; elem)",
                                   r"\1interval\2"), ["set subjects differs", "flags"]),
    "a set more": (then("add set inet T extra { type uid; }"),
                   ["set extra is not of the policy"]),
    "a map more": (then("add map inet T extra { type uid : verdict; }"),
                   ["set extra is not of the policy"]),
    # elements of sets without a time-out
    "a subject missing": (edit(r"(elements = \{ )\d+, ", r"\1"), [
        "set subjects: element ", "is missing"]),
    "a subject more": (edit(r"(subjects .*elements = \{ )", r"\g<1>7, "), [
        "set subjects: element 7 is not of the policy"]),
    "a shorter range": (lambda text: re.sub(
        r"(subjects .*elements = \{ \d+, \d+-)(\d+)",
        lambda m: m.group(1) + str(int(m.group(2)) - 1), text),
        ["set subjects: element ", "(the end of a range) is missing"]),
    # elements of sets with one
    "another lease": (edit(r"(lease .*elements = \{ )\d+", r"\g<1>7"),
                      ["set lease: element 7 is not of the policy", "is missing"]),
    "a lease more": (then("add element inet T lease { 7 timeout 100s }"),
                     ["set lease: element 7 is not of the policy"]),
    "the lease missing": (edit(r"(lease .*); elements = \{.*?\}", r"\1"),
                          ["set lease: element ", "is missing"]),
    "a permanent lease": (edit(r"(lease .*elements = \{ \d+) timeout \d+ms", r"\1"),
                          ["set lease: element ", "is permanent"]),
    "a permanent worker": (edit(r'(worker .*elements = \{ "[^"]*") timeout \d+ms', r"\1"),
                           ["set worker: element ", "is permanent"]),
    "permanent flows": (edit(r"(flows .*elements = \{ \w+) timeout \d+ms", r"\1"),
                        ["set flows: element 0x4e5", "is permanent"]),
    "a lease that outlives the window": (
        edit(r"(lease .*elements = \{ \d+) timeout \d+ms", r"\1 timeout 300s"),
        ["set lease: element ", "outlives the window"]),
    "a lease that lasts for days": (
        edit(r"(lease .*elements = \{ \d+) timeout \d+ms", r"\1 timeout 30d"),
        ["set lease: element ", "outlives the window"]),
    "a daemon that outlives the window": (
        edit(r'(daemon .*elements = \{ "[^"]*") timeout \d+ms', r"\1 timeout 5m"),
        ["set daemon: element ", "outlives the window"]),
    "flows that end too soon": (
        edit(r"(flows .*elements = \{ \w+) timeout \d+ms", r"\1 timeout 100s"),
        ["set flows: element 0x4e5", "ends before the window does"]),
    "another mark": (edit(r"(flows .*elements = \{ )\w+", r"\g<1>0x4e500001"),
                     ["set flows: element 0x4e500001 is not of the policy"]),
    "the worker's cgroup for the daemon's": (
        edit(r'(daemon .*elements = \{ ")[^"]*', r"\1system.slice"),
        ["set daemon: element ", "is not of the policy", "is missing"]),
    "a cgroup more": (then('add element inet T worker { "system.slice" timeout 100s }'),
                      ["set worker: element ", "is not of the policy"]),
    # objects
    "a counter": (then("add counter inet T extra"), ["object extra is not of the policy"]),
    "a quota": (then("add quota inet T extra { over 10 mbytes; }"),
                ["object extra is not of the policy"]),
    "a named limit": (then("add limit inet T extra { rate 10/second; }"),
                      ["object extra is not of the policy"]),
    "a dormant table": (then("add table inet T { flags dormant; }"),
                        ["the table differs", "flags: must be 0x00000000, is 0x00000001"]),
}
MUTATIONS = {name: change for name, change in MUTATIONS.items() if change[1] is not None}

SUBORDINATE_SIZE = 64


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = w.World()
        cls.addClassCleanup(cls.world.stack.close)

    def setUp(self):
        self.profile = self.world.issue(window=WINDOW)
        self.text = self.world.compile(self.profile).decode()

    def fresh(self):
        """A profile of now: a slow run must not reach the expiry."""
        self.setUp()

    def load(self, text):
        table = self.world.table
        text = re.sub(r"\binet T\b", f"inet {table}", text)
        self.world.load((f"add table inet {table}\ndelete table inet {table}\n"
                         + text).encode())

    def diff(self, *more, **options):
        arguments = ["--profile", self.profile] if not more else list(more)
        done = self.world.policy("diff", *self.world.of_site(*arguments), check=False,
                                 **options)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def assert_equal(self, *more, **options):
        status, report, error = self.diff(*more, **options)
        self.assertEqual((status, error), (0, ""), report)
        self.assertEqual(report, f"table inet {self.world.table}: equal\n")

    def assert_different(self, *expected, options=()):
        status, report, error = self.diff(*options)
        self.assertEqual(status, 3, report + error)
        for text in expected:
            self.assertIn(text, report)
        return report


class MutationTest(Base):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(MUTATIONS), 60)

    def test_each_change_is_found_and_named(self):
        for name, (change, expected) in MUTATIONS.items():
            with self.subTest(name):
                self.fresh()
                changed = change(self.text)
                self.assertNotEqual(changed, self.text)
                self.load(changed)
                self.assert_different(*expected)
                # Of a dormant table nft prints freed memory in the flag's place.
                if name != "a dormant table":
                    self.assert_listed_in_pieces()

    def assert_listed_in_pieces(self):
        """Chain by chain, what nft lists of the whole table."""
        done = chainwise.in_pieces(self.world.host, self.world.table)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        listing = chainwise.listing_of(self.world.host, self.world.table)
        self.assertEqual(chainwise.without_time(done.stdout), chainwise.without_time(listing))

    def test_each_statement_of_each_rule(self):
        self.fresh()
        lines, rules, count = self.text.split("\n"), {}, 0
        for at, line in enumerate(lines):
            match = re.match(r"add rule inet \w+ (\w+) (.*)", line)
            if not match:
                continue
            chain, body = match.groups()
            rules[chain] = rules.get(chain, 0) + 1
            for number, statement in enumerate(STATEMENTS.finditer(body)):
                with self.subTest(chain=chain, rule=rules[chain], without=statement.group()):
                    self.fresh()
                    lines_now = self.text.split("\n")
                    *command, body_now = lines_now[at].split(" ", 5)
                    again = list(STATEMENTS.finditer(body_now))[number]
                    lines_now[at] = " ".join([*command, (
                        body_now[:again.start()] + body_now[again.end():]).strip()])
                    self.load("\n".join(lines_now))
                    count += 1
                    if body_now[again.start():].startswith("meta l4proto tcp tcp flags"):
                        self.assert_equal()  # nft puts it there by itself
                    else:
                        self.assert_different(
                            f"chain {chain}: rule {rules[chain]} differs")
        self.assertGreater(count, 150)

    def test_all_of_many_are_counted(self):
        self.load(re.sub(r"counter accept", "counter drop", self.text))
        report = self.assert_different("verdict code: must be 1, is 0")
        changed = len(re.findall(r"counter accept", self.text))
        self.assertTrue(report.startswith(
            f"table inet {self.world.table}: {changed} differences\n"), report)

    def test_a_table_that_is_not_there(self):
        self.world.load(f"add table inet {self.world.table}\n"
                        f"delete table inet {self.world.table}\n".encode())
        self.assert_different("1 difference\nthe table is missing")

    def test_the_guard_is_not_the_window(self):
        self.load(self.text)
        self.world.revoke()
        self.assert_different("chain scoped_output: rule 1 is missing")


class HarmlessTest(Base):
    def nft(self, *commands, **environment):
        text = "\n".join(commands).replace("inet T", f"inet {self.world.table}")
        environment.setdefault("PATH", "/usr/sbin:/usr/bin")
        self.world.host.run([netns.NFT, "-f", "-"], input=text.encode(), env=environment)

    def handles(self, chain):
        listed = self.world.host.run([netns.NFT, "-a", "list", "chain", "inet",
                                      self.world.table, chain]).stdout.decode()
        return re.findall(r"^\t\t(?!type)(.*) # handle (\d+)$", listed, re.M)

    def rules(self, chain):
        return re.findall(rf"^add rule inet \w+ {chain} (.*)$", self.text, re.M)

    def check(self, name, *commands):
        with self.subTest(name):
            self.fresh()
            self.load(self.text)
            if commands:
                self.nft(*commands)
            self.assert_equal()

    def test_what_nft_does(self):
        self.check("nothing")
        self.check("a table of another family", "add table ip T".replace("T", self.world.table),
                   f"add chain ip {self.world.table} output")
        self.check("another table", "add table inet other", "add chain inet other c",
                   "add rule inet other c counter drop")
        self.check("more generations", *["add set inet other s { type mark; }",
                                         "delete set inet other s"] * 20)
        self.check("a rule more, and gone", "add chain inet T x", "delete chain inet T x")
        self.check("a set more, and gone", "add set inet T x { type uid; }",
                   "delete set inet T x")
        self.check("an element more, and gone",
                   "add element inet T lease { 7 timeout 100s }",
                   "delete element inet T lease { 7 }")
        with self.subTest("dormant, and awake"):
            self.fresh()
            self.load(self.text)
            self.nft("add table inet T { flags dormant; }")
            self.nft("add table inet T { }")
            self.assert_equal()

    def test_loaded_in_another_way(self):
        table = self.world.table

        def case(name, **more):
            """Compiled for each: a text says what is left at its own moment."""
            self.text = self.world.compile(self.profile).decode()
            return self.subTest(name, **more)

        with case("twice"):
            self.load(self.text)
            self.world.load(self.text.encode())
            self.assert_equal()
        with case("over the guard"):
            self.load("")
            self.world.revoke()
            self.world.load(self.text.encode())
            self.assert_equal()
        with case("by replacing"):
            self.world.load(self.world.compile(self.profile, None, "--replace"))
            self.assert_equal()
        with case("later"):
            self.world.load(self.world.compile(self.profile))
            self.assert_equal()
        with case("one command a transaction"):
            self.load("")
            # One nft that reads line by line, so that the lines take no time.
            self.world.host.run([netns.NFT, "-i"], input=self.text.encode() + b"quit\n")
            self.assert_equal()
        with case("sets first"):
            lines = self.text.strip().split("\n")
            sets = [line for line in lines if line.split()[1] == "set"]
            rest = [line for line in lines if line not in sets]
            self.load("\n".join([f"add table inet {table}", *sets, *rest]))
            self.assert_equal()
        with case("rules of the last chain first"):
            lines = self.text.strip().split("\n")
            rules = [line for line in lines if line.startswith("add rule")]
            rest = [line for line in lines if line not in rules]
            by_chain = sorted(rules, key=lambda line: line.split()[4])
            self.load("\n".join(rest + by_chain))
            self.assert_equal()
        for zone in ("Asia/Kolkata", "America/New_York", "UTC"):
            with case("loaded in a time zone", zone=zone):
                self.nft(f"delete table inet {table}", self.text, TZ=zone)
                self.assert_equal()
        with case("in another language"):
            self.nft(f"delete table inet {table}", self.text, LC_ALL="C.UTF-8", LANG="de_DE")
            self.assert_equal()

    def test_elements_in_another_order(self):
        self.world.write("subuid", "netproof:4000000000:64\nnetproof:3900000000:64\n"
                         "netproof:3800000000:64\n", 0o644)
        try:
            self.fresh()
            def turn(match):
                return match.group(1) + ", ".join(
                    reversed(match.group(2).split(", "))) + match.group(3)
            turned = re.sub(r"(subjects \{.*elements = \{ )(.*?)( \})", turn, self.text)
            self.assertNotEqual(turned, self.text)
            self.load(turned)
            self.assert_equal()
        finally:
            self.world.write("subuid", f"netproof:{self.world.subordinate}:64\n", 0o644)

    def test_rules_put_back(self):
        self.load(self.text)
        with self.subTest("a rule replaced by itself"):
            for chain in ("scoped_output", "scoped_input", "marked_output"):
                before = self.handles(chain)
                for (_, handle), body in zip(before, self.rules(chain), strict=True):
                    self.nft(f"replace rule inet T {chain} handle {handle} {body}")
            self.assert_equal()
        with self.subTest("a rule deleted and inserted at its place"):
            rules, bodies = self.handles("scoped_output"), self.rules("scoped_output")
            self.nft(f"delete rule inet T scoped_output handle {rules[2][1]}",
                     f"insert rule inet T scoped_output position {rules[3][1]} {bodies[2]}")
            self.assert_equal()
        with self.subTest("a chain flushed and filled"):
            self.nft("flush chain inet T scoped_input",
                     *[f"add rule inet T scoped_input {body}"
                       for body in self.rules("scoped_input")])
            self.assert_equal()

    def test_counters_and_traffic(self):
        self.load(self.text)
        worker = self.world.actor(self.world.uid, self.world.worker)
        for _ in range(3):
            worker.connect(w.OTHER, 443)
        self.assertGreater(self.world.rejected(), 0)
        self.assert_equal()
        worker.close()

    def test_time_runs(self):
        self.load(self.text)
        first = self.remaining()
        deadline = time.monotonic() + 60
        while self.remaining() > first - 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assert_equal()

    def remaining(self):
        for item in self.world.listing():
            if item.get("set", {}).get("name") == "lease":
                return item["set"]["elem"][0]["elem"]["expires"]
        raise AssertionError("no lease")

    def test_lease_renewed_until_the_same_end(self):
        self.load(self.text)
        with open(self.profile, encoding="ascii") as file:
            expires = json.load(file)["expires_at_unix"]
        left = expires * 1000 - int(time.time() * 1000)
        self.nft(f"delete element inet T lease {{ {self.world.uid} }}",
                 f"add element inet T lease {{ {self.world.uid} timeout {left}ms }}")
        self.assert_equal()

    def test_the_callers_environment(self):
        self.load(self.text)
        for name, value in (("TZ", "Pacific/Chatham"), ("LC_ALL", "tr_TR.UTF-8"),
                            ("NFT_STATELESS", "1")):
            with self.subTest(name):
                self.assert_equal(env={name: value})

    def test_cgroups_beside(self):
        with contextlib.ExitStack() as stack:
            for number in range(50):
                group = w.Group(f"system.slice/netproof-test-{os.getpid()}-{number}.service")
                stack.callback(group.close)
            self.load(self.text)
            self.assert_equal()


class GuardTest(Base):
    def test_guard_after_a_window_and_fresh(self):
        self.load(self.text)
        self.world.revoke()
        self.assert_equal("--guard")
        self.load(self.world.guard_text().decode())
        self.assert_equal("--guard")
        self.world.revoke()
        self.assert_equal("--guard")

    def test_the_window_is_not_the_guard(self):
        self.load(self.text)
        self.assert_different("chain scoped_output is not of the policy",
                              options=("--guard",))

    def test_more_than_the_guard(self):
        self.world.revoke()
        self.load(self.world.guard_text().decode())
        for command, expected in (
                ("insert rule inet T output accept", "chain output: rule 1"),
                ("add chain inet T x { type filter hook output priority 0; policy drop; }",
                 "chain x is not of the policy"),
                ("add chain inet T x\nadd rule inet T x accept",
                 "chain x is not of the policy"),
                ("add set inet T x { type uid; elements = { 7 }; }",
                 "set x is not of the policy"),
                ("add counter inet T x", "object x is not of the policy")):
            with self.subTest(command):
                self.load(self.world.guard_text().decode() + command)
                self.assert_different(expected, options=("--guard",))
        for command in ("add chain inet T x", "add set inet T x { type uid; }",
                        "add chain inet T x { type filter hook output priority 0; }"):
            with self.subTest(command):
                self.load(self.world.guard_text().decode() + command)
                self.assert_equal("--guard")


    def test_comments_cannot_forge_the_report(self):
        """A rule's line that is there twice, or is not fit for a terminal, is shown in the
        kernel's form."""
        forged = b'"\n\t\taccept # handle %d\n\t\tmeta skuid 1 "'
        for text in (b"\x1b[2J", forged, b"\xff"):
            with self.subTest(text):
                self.world.revoke()
                listing = self.world.host.run([netns.NFT, "-a", "list", "table", "inet",
                                               self.world.table]).stdout
                # A table numbers all that it gets.
                text = text.replace(b"%d", b"%d" % (1 + max(
                    int(n) for n in re.findall(rb"\t.* # handle (\d+)", listing))))
                with self.world.host.entered():
                    link = nf.Link()
                with link:
                    link.commit(nf.message(
                        nf.NEWRULE, nf.attribute(1, self.world.table),
                        nf.attribute(2, "output"), nf.attribute(4, [nf.expression("counter")]),
                        nf.attribute(7, bytes([0, len(text) + 1]) + text + b"\0"),
                        flags=nf.CREATE | nf.APPEND))
                report = self.assert_different("chain output: rule 2 is not of the policy\n",
                                               options=("--guard",))
                self.assertTrue(re.fullmatch(r"[\n\t -~]*", report), report)
                self.assertIn("\n\tis:      rule output counter()\n", report)

    def test_a_chain_or_set_that_was_emptied(self):
        """It is there: what is missing is what was in it."""
        self.world.revoke()
        self.load(self.world.guard_text().decode())
        table = self.world.table
        self.world.load(f"flush chain inet {table} marked_output\n".encode())
        report = self.assert_different("chain marked_output: rule 1 is missing",
                                       "chain marked_output: rule 3 is missing",
                                       options=("--guard",))
        self.assertTrue(report.startswith(f"table inet {table}: 3 differences\n"), report)
        self.world.load(f"flush chain inet {table} output\n"
                        f"delete set inet {table} subjects\n"
                        f"add set inet {table} subjects {{ type uid; }}\n".encode())
        report = self.assert_different("chain output: rule 1 is missing",
                                       "set subjects: element ", options=("--guard",))
        self.assertNotRegex(report, "chain [a-z_]+ is missing|set subjects is missing")
        self.world.load(f"delete chain inet {table} output\n".encode())
        self.assert_different("chain output is missing", options=("--guard",))


class ExpiryTest(Base):
    def test_after_the_expiry_the_elements_must_be_gone(self):
        self.profile = self.world.issue(window=2)
        text = self.world.compile(self.profile).decode()
        self.load(text)
        self.assert_equal()
        expires = int(re.search(r"meta time \d+-(\d+)", text).group(1))
        while time.time() < expires + 2.5:
            time.sleep(0.1)
        self.assert_equal()
        self.load(re.sub(r" timeout \d+ms", " timeout 1h", text))
        self.assert_different("set lease: element ", "outlives the window")


class UndecidedTest(Base):
    def undecided(self, *expected, **options):
        status, report, error = self.diff(**options)
        self.assertEqual((status, report), (4, ""), error)
        for text in expected:
            self.assertIn(text, error)

    def test_a_cgroup_that_is_gone(self):
        self.load(self.text)
        self.world.worker.close()
        try:
            self.undecided("scratch namespace", "libnftables could not load the policy")
        finally:
            self.world.worker = w.Group(self.world.worker.relative)
            self.world.stack.callback(self.world.worker.close)

    def test_a_cgroup_that_was_made_again(self):
        self.load(self.text)
        self.world.worker.close()
        self.world.worker = w.Group(self.world.worker.relative)
        self.world.stack.callback(self.world.worker.close)
        self.assert_different("set worker: element ", "is missing", "is not of the policy")

    def test_another_cgroup_namespace(self):
        """Levels and paths count from elsewhere there: that the listings are alike, or
        not, says nothing. Also with decoys where the policy's cgroups would be."""
        self.load(self.text)
        for real in (self.world.worker, self.world.manager):
            decoy = w.Group(f"{self.world.third.relative}/{real.relative}")
            self.addCleanup(decoy.close)
        self.assert_equal()

        def enter(remount):
            with open(f"{self.world.third.path}/cgroup.procs", "w") as file:
                file.write("0")
            netns.unshare(netns.CLONE_NEWCGROUP | netns.CLONE_NEWNS)
            if remount:
                w.mount_cgroup2()

        for remount in (False, True):
            with self.subTest(remount=remount):
                self.undecided("cgroup namespace", preexec_fn=lambda: enter(remount))
        self.assert_equal()

    def test_a_listing_that_dies(self):
        """Names that nft cannot print: the kernel form still tells."""
        self.load(self.text)
        with self.world.host.entered():
            link = nf.Link()
        with link:
            link.commit(nf.new_set(self.world.table, "odd\udcff", 24, 4))
            self.assert_different('set "odd\\xff" is not of the policy',
                                  "nft could not list the table")
        self.load(self.text)
        self.assert_equal()

    def test_a_writer_that_never_rests(self):
        """What is read is never of two rulesets: different, or could not tell."""
        self.load(self.text)
        stop = False
        script = ("import sys; sys.path[:0] = sys.argv[1:3]\nimport nfnetlink as nf\n"
                  "link = nf.Link()\nlink.commit(nf.table('noise'))\nprint(1, flush=True)\n"
                  "while True:\n"
                  "    link.commit(nf.chain('noise', 'c'))\n"
                  "    link.commit(nf.message(5, nf.attribute(1, 'noise'), "
                  "nf.attribute(3, 'c'), flags=0))\n")
        writer = self.world.host.popen(
            ["/usr/bin/python3", "-I", "-c", script, os.path.dirname(nf.__file__)],
            stdout=subprocess.PIPE)
        with writer.stdout:
            self.assertEqual(writer.stdout.readline(), b"1\n")
            self.undecided("the ruleset kept changing while it was ")
            writer.kill()
            writer.wait()
        self.assertFalse(stop)
        self.assert_equal()


class LeftoverTest(Base):
    def children(self, pid):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                found = [int(word) for word in file.read().split()]
            return found + [deep for child in found for deep in self.children(child)]
        return []

    def test_nothing_is_left_by_any_end(self):
        self.load(self.text)
        before = self.world.host.run([netns.NFT, "list", "ruleset"]).stdout
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            for wanted in (1, 2, 3):
                with self.subTest(signal=number, children=wanted):
                    self.end_with(number, wanted)
        after = self.world.host.run([netns.NFT, "list", "ruleset"]).stdout
        strip = lambda text: re.sub(rb"expires \w+|packets \d+ bytes \d+", b"", text)
        self.assertEqual(strip(before), strip(after))

    def end_with(self, number, wanted):
        """Ends a diff once it has that many descendants."""
        diff = self.world.host.popen(
            [w.NET_POLICY, "diff", *self.world.of_site("--profile", self.profile)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = []
        while diff.poll() is None and len(seen) < wanted:
            seen = self.children(diff.pid)
        pidfds = []
        for pid in seen:
            with contextlib.suppress(ProcessLookupError):
                pidfds.append(os.pidfd_open(pid))
        diff.send_signal(number)
        diff.wait(30)
        # Each child dies with its parent, and the namespace with the last.
        for fd in pidfds:
            ready, _, _ = w.select.select([fd], [], [], 30)
            os.close(fd)
            self.assertTrue(ready, "a child has outlived net-policy diff")


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
