#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The semantic digest (SPEC 5.4) on tables in the running kernel: what counts and what does
not, case by case, and the whole rule written down a second time. And hostile listings, none
of which is a verdict. (Recorded listings and a worker's cycle: test_semantic.py.)"""
import hashlib
import json
import os
import re
import subprocess
import unittest

import test_chainwise as chainwise
import world as w
from world import NET_POLICY, netns

FOLDER = os.path.join(w.TOP, "fixtures/nft")


def ask(verb, data, table="t"):
    """net-policy on a listing: exit status, output, message."""
    done = subprocess.run([NET_POLICY, verb, "--table", table], input=data,
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = netns.Namespace(loopback=False)
        cls.addClassCleanup(cls.space.close)

    def list(self, text, name="t", family="inet"):
        """What nft lists of a table after loading `text`, alone; chain by chain, too."""
        self.space.nft("flush ruleset\n" + text)
        listing = self.space.run([netns.NFT, "-j", "list", "table", family, name]).stdout
        if family == "inet" and "chain" in text:
            done = chainwise.in_pieces(self.space, name)
            self.assertEqual(chainwise.without_time(done.stdout),
                             chainwise.without_time(listing))
        return listing

    def digest(self, text, **more):
        status, out, err = ask("digest", self.list(text, **more))
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)["nft_ruleset_semantic_sha256"]

    def entries(self, text, **more):
        status, out, err = ask("normalize", self.list(text, **more))
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)


def table(*lines):
    return "\n".join(["add table inet t", *(f"add {line}" for line in lines)]) + "\n"


# A table to which each case below adds something.
BASE = ("chain inet t in { type filter hook input priority 0; policy drop; }",
        "chain inet t used",
        "set inet t known { type ipv4_addr; elements = { 192.0.2.1, 192.0.2.2 }; }",
        "rule inet t in ip saddr @known counter jump used",
        "rule inet t in tcp dport { 22, 80 } accept",
        "rule inet t used accept")

INERT = {
    "a regular chain that nothing names": ["chain inet t idle"],
    "two of them": ["chain inet t idle", "chain inet t idler"],
    "a set without elements that nothing names": ["set inet t idle { type mark; }"],
    "a timed one": ["set inet t idle { type mark; flags timeout; timeout 5s; }"],
    "a map": ["map inet t idle { type mark : verdict; }"],
    "a base chain that accepts": [
        "chain inet t out { type filter hook output priority -310; policy accept; }"],
    "base chains on every hook": [
        f"chain inet t {h} {{ type filter hook {h} priority 7; policy accept; }}"
        for h in ("prerouting", "forward", "output", "postrouting")],
}

COUNTS = {
    "a base chain that drops": [
        "chain inet t out { type filter hook output priority 0; policy drop; }"],
    "a base chain of type nat": [
        "chain inet t out { type nat hook output priority 0; policy accept; }"],
    "a base chain of type route": [
        "chain inet t out { type route hook output priority 0; policy accept; }"],
    "a base chain with a rule": [
        "chain inet t out { type filter hook output priority 0; policy accept; }",
        "rule inet t out accept"],
    "a regular chain with a rule": ["chain inet t idle", "rule inet t idle accept"],
    "a chain that a jump names": ["chain inet t idle", "rule inet t used jump idle"],
    "a chain that a goto names": ["chain inet t idle", "rule inet t used goto idle"],
    "a chain that an anonymous map names": [
        "chain inet t idle", "rule inet t used tcp dport vmap { 1 : jump idle }"],
    "a chain that a named map names": [
        "chain inet t idle",
        "map inet t way { type inet_service : verdict; elements = { 1 : goto idle }; }"],
    "a set with elements": ["set inet t more { type mark; elements = { 1 }; }"],
    "a map with elements": ["map inet t more { type mark : mark; elements = { 1 : 2 }; }"],
    "an empty set that a rule names": [
        "set inet t more { type mark; }", "rule inet t used meta mark @more drop"],
    "an empty set that a rule fills": [
        "set inet t more { type ipv4_addr; flags dynamic; size 5; }",
        "rule inet t used add @more { ip saddr }"],
    "an empty map that a rule names": [
        "map inet t more { type inet_service : verdict; }",
        "rule inet t used tcp dport vmap @more"],
    "a named counter": ["counter inet t more"],
    "a quota": ["quota inet t more { over 5 mbytes }"],
    "a limit": ["limit inet t more { rate 5/second }"],
    "a rule more": ["rule inet t used drop"],
    "a rule twice": ["rule inet t used accept"],
    "an element more": ["element inet t known { 192.0.2.3 }"],
}


def recount(lines):
    return [re.sub("counter", "counter packets 5 bytes 700", line) for line in lines]


SAME = {
    "counters": recount(BASE),
    "the order of objects": [BASE[1], BASE[2], BASE[0], *BASE[3:]],
    "rules of chains interleaved": [*BASE[:3], BASE[5], *BASE[3:5]],
    "the order of elements": [*BASE[:2], BASE[2].replace("192.0.2.1, 192.0.2.2",
                                                         "192.0.2.2, 192.0.2.1"), *BASE[3:]],
    "the order of an anonymous set": [
        *BASE[:4], BASE[4].replace("22, 80", "80, 22"), BASE[5]],
}

DIFFERENT = {
    "the order of rules": [*BASE[:3], BASE[4], BASE[3], BASE[5]],
    "a counter less": [*BASE[:3], BASE[3].replace("counter ", ""), *BASE[4:]],
    "a priority": [BASE[0].replace("priority 0", "priority 1"), *BASE[1:]],
    "a policy": [BASE[0].replace("drop", "accept"), *BASE[1:]],
    "a name": [line.replace("used", "users") for line in BASE],
    "an element": [line.replace("192.0.2.2", "192.0.2.3") for line in BASE],
    "an element of an anonymous set": [line.replace("80", "81") for line in BASE],
    "a flag of a set": [*BASE[:2], BASE[2].replace("; }", "; flags interval; }"), *BASE[3:]],
    "a verdict": [*BASE[:5], "rule inet t used drop"],
}


class Semantic(Kernel):
    def setUp(self):
        self.base = self.digest(table(*BASE))

    def test_what_a_flush_leaves_behind_does_not_count(self):
        for name, lines in INERT.items():
            with self.subTest(name):
                self.assertEqual(self.digest(table(*BASE, *lines)), self.base)
                self.assertEqual(self.digest(table(*lines, *BASE)), self.base)

    def test_everything_else_counts(self):
        seen = {self.base: "nothing"}
        for name, lines in COUNTS.items():
            with self.subTest(name):
                found = self.digest(table(*BASE, *lines))
                self.assertNotIn(found, seen, seen.get(found))
                seen[found] = name

    def test_what_changes_by_itself_does_not_count(self):
        for name, lines in SAME.items():
            with self.subTest(name):
                self.assertEqual(self.digest(table(*lines)), self.base)

    def test_handles_do_not_count(self):
        text = table("chain inet t gone", *BASE[:3], "rule inet t gone drop", *BASE[3:])
        self.assertEqual(self.digest(text + "flush chain inet t gone\n"
                                     "delete chain inet t gone\n"), self.base)

    def test_any_further_attribute_counts(self):
        """Made by hand: nft 1.0.6 shows neither devices nor comments of chains."""
        def digest(**more):
            chain = json.loads(CHAIN)
            chain["chain"].update({"type": "filter", "hook": "ingress", "prio": 0,
                                   "policy": "accept", **more})
            status, out, _ = ask("digest", listing(TABLE, json.dumps(chain)).encode())
            self.assertEqual(status, 0)
            return out
        _, bare, _ = ask("digest", listing(TABLE).encode())
        self.assertEqual(digest(), bare)
        found = {digest(dev="lo"), digest(dev=["lo", "v0"]), digest(comment="x"),
                 digest(flags=["offload"]), digest(policy="drop"), digest(type="nat")}
        self.assertEqual(len(found | {bare}), 7)

    def test_the_order_of_elements_never_counts(self):
        """Made by hand: nft sorts what it lists."""
        def digest(order):
            entries = [
                {"set": {"family": "inet", "table": "t", "name": "s", "elem":
                         order([1, 2, {"range": [3, 5]}, {"elem": {"val": 9}}])}},
                {"map": {"family": "inet", "table": "t", "name": "m", "elem":
                         order([[1, {"accept": None}], [2, {"drop": None}]])}},
                {"rule": {"family": "inet", "table": "t", "chain": "c", "expr": [
                    {"vmap": {"key": 1, "data": {"set": order([[1, 2], [3, 4]])}}},
                    {"match": {"op": "==", "left": 1, "right": {
                        "set": order([5, {"concat": [1, 2]}, 6])}}}]}}]
            text = listing(TABLE, CHAIN, *map(json.dumps, entries))
            status, out, _ = ask("digest", text.encode())
            self.assertEqual(status, 0)
            return out
        self.assertEqual(digest(list), digest(lambda items: items[::-1]))
        self.assertNotEqual(digest(list), digest(lambda items: [
            {"concat": [2, 1]} if item == {"concat": [1, 2]} else item for item in items]))

    def test_what_was_changed_counts(self):
        seen = {self.base: "nothing"}
        for name, lines in DIFFERENT.items():
            with self.subTest(name):
                found = self.digest(table(*lines))
                self.assertNotIn(found, seen, seen.get(found))
                seen[found] = name

    def test_timed_elements(self):
        def timed(text):
            return self.digest(table(
                f"set inet t s {{ type mark; flags timeout; elements = {{ {text} }}; }}"))
        one = timed("1 timeout 1h")
        self.assertEqual(timed("1 timeout 2h"), one)
        self.assertEqual(timed("1 timeout 2h expires 5m"), one)
        self.assertNotEqual(timed("2 timeout 1h"), one)
        self.assertNotEqual(timed("1 timeout 1h, 2 timeout 1h"), one)
        # The set's own default is an attribute of the set.
        default = self.digest(table("set inet t s { type mark; timeout 1h; "
                                    "elements = { 1 }; }"))
        self.assertNotEqual(default, self.digest(table(
            "set inet t s { type mark; timeout 2h; elements = { 1 }; }")))

    def test_timed_elements_of_maps(self):
        def timed(text):
            return self.entries(table(
                "map inet t m { type mark : mark; flags timeout; "
                f"elements = {{ {text} }}; }}"))
        self.assertEqual(timed("1 timeout 1h : 5"), timed("1 timeout 2h : 5"))
        self.assertNotEqual(timed("1 timeout 1h : 5"), timed("1 timeout 1h : 6"))

    def test_digest_is_over_the_reduced_entries(self):
        """The whole rule, once more and in another language, on every table above."""
        for lines in (BASE, *INERT.values(), *COUNTS.values(), *SAME.values()):
            text = table(*dict.fromkeys([*BASE, *lines]))
            entries = self.entries(text)
            self.assertEqual(self.digest(text), digest_of(reduce(entries)))

    def test_another_family(self):
        text = ("add table ip t\nadd chain ip t c { type filter hook input priority 0; }\n"
                "add rule ip t c drop\n")
        inet = text.replace(" ip ", " inet ")
        self.assertNotEqual(self.digest(text, family="ip"), self.digest(inet))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"),
                      ensure_ascii=False).encode()


def digest_of(value):
    return hashlib.sha256(canonical(value)).hexdigest()


def walk(value):
    yield value
    for inner in (value.values() if isinstance(value, dict) else
                  value if isinstance(value, list) else ()):
        yield from walk(inner)


def ordered(value):
    """Anonymous sets in order, wherever they are."""
    if isinstance(value, dict):
        value = {key: ordered(inner) for key, inner in value.items()}
        if isinstance(value.get("set"), list):
            value["set"] = sorted(value["set"], key=canonical)
        return value
    return [ordered(inner) for inner in value] if isinstance(value, list) else value


def reduce(entries):
    """SPEC 5.4, written down a second time."""
    texts = {v for v in walk(entries) if isinstance(v, str) and v.startswith("@")}
    named = {v[k]["target"] for v in walk(entries) if isinstance(v, dict)
             for k in ("jump", "goto") if isinstance(v.get(k), dict)}
    filled = {e["rule"]["chain"] for e in entries if "rule" in e}

    def is_inert(entry):
        (kind, body), = entry.items()
        if kind in ("set", "map"):
            return not body.get("elem") and "@" + body["name"] not in texts
        if kind != "chain" or body["name"] in filled:
            return False
        if "hook" not in body:
            return body["name"] not in named
        return (set(body) == set("family table name type hook prio policy".split())
                and (body["type"], body["policy"]) == ("filter", "accept"))

    def key(entry):
        (kind, body), = entry.items()
        if kind == "rule":
            return (5, b"", canonical(body["chain"]))
        rank = {"table": 0, "chain": 1, "set": 2, "map": 3}.get(kind, 4)
        return (rank, kind.encode(), canonical(entry))

    kept = [ordered(entry) for entry in entries if not is_inert(entry)]
    for entry in kept:
        for kind in ("set", "map"):
            if "elem" in entry.get(kind, {}):
                entry[kind]["elem"] = sorted(entry[kind]["elem"], key=canonical)
    return sorted(kept, key=key)


class Normalize(Kernel):
    def test_nothing_else_is_lost(self):
        """Entry for entry what nft lists, but for what SPEC 5.3 names."""
        text = table(*BASE, "counter inet t named { packets 5 bytes 6 }",
                     "set inet t s { type mark; flags timeout; elements = "
                     "{ 1 timeout 1h }; counter; }")
        listed = json.loads(self.list(text))["nftables"]
        entries = self.entries(text)
        self.assertEqual([list(e)[0] for e in listed[1:]], [list(e)[0] for e in entries])
        for one, other in zip(listed[1:], entries):
            (kind, body), = one.items()
            body.pop("handle")
            if kind == "counter":
                body.update(packets=0, bytes=0)
            for part in walk(body):
                if isinstance(part, dict) and isinstance(part.get("counter"), dict):
                    part["counter"] = {"packets": 0, "bytes": 0}
                if isinstance(part, dict) and isinstance(part.get("elem"), dict):
                    part["elem"].pop("timeout", None)
                    part["elem"].pop("expires", None)
            self.assertEqual(one, other)

    def test_output_is_canonical(self):
        status, out, _ = ask("normalize", self.list(table(*BASE)))
        self.assertEqual(status, 0)
        self.assertEqual(out, canonical(json.loads(out)) + b"\n")

    def test_a_file_as_operand(self):
        data = self.list(table(*BASE))
        path = os.path.join(w.tempfile.mkdtemp(prefix="netproof-test-"), "listing.json")
        self.addCleanup(w.shutil.rmtree, os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(data)
        for verb in ("normalize", "digest"):
            done = subprocess.run([NET_POLICY, verb, "--table", "t", path],
                                  capture_output=True, check=True)
            self.assertEqual(done.stdout, ask(verb, data)[1])
        done = subprocess.run([NET_POLICY, "digest", "--table", "t", path + "x"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("No such file", done.stderr)


TABLE = '{"table":{"family":"inet","name":"t","handle":1}}'
CHAIN = '{"chain":{"family":"inet","table":"t","name":"c","handle":1}}'
RULE = ('{"rule":{"family":"inet","table":"t","chain":"c","handle":2,'
        '"expr":[{"accept":null}]}}')


def listing(*entries):
    return '{"nftables":[' + ",".join(entries) + "]}"


# name: (listing, what is said of it)
HOSTILE = {
    "nothing": ("", "not strict JSON"),
    "no JSON": ("table inet t { }", "not strict JSON"),
    "another value": ("[]", "not an object"),
    "cut": (listing(TABLE, CHAIN, RULE)[:-3], "not strict JSON"),
    "more behind it": (listing(TABLE) + "{}", "not strict JSON"),
    "bytes that are no text": (b'{"nftables":["\xff"]}', "not strict JSON"),
    "a repeated key": ('{"nftables":[],"nftables":[]}', "duplicate"),
    "a repeated key inside": (listing(TABLE.replace('"handle"', '"name"')), "duplicate"),
    "a float": (listing(TABLE.replace("1}", "1.5}")), "not written as an integer"),
    "too deep": (listing(TABLE, "[" * 20 + "]" * 20), "deeper"),
    "an integer too large": (listing(TABLE.replace("1}", "99999999999999999999}")),
                             "2^53"),
    "no list": ("{}", 'not {"nftables": [...]} alone'),
    "a list that is none": ('{"nftables":{}}', 'not {"nftables": [...]} alone'),
    "something beside it": ('{"nftables":[' + TABLE + '],"more":1}',
                            'not {"nftables": [...]} alone'),
    "no table": (listing('{"metainfo":{"version":"1.0.6"}}'), "no table t in the listing"),
    "another table": (listing(TABLE.replace('"t"', '"u"')),
                      "nftables[0].table: not the table that was asked for"),
    "two tables": (listing(TABLE, TABLE), "nftables[1].table: a second table"),
    "an entry that is none": (listing(TABLE, "5"), "nftables[1]: not an object of one key"),
    "an entry of two": (listing(TABLE, '{"chain":{},"set":{}}'),
                        "nftables[1]: not an object of one key"),
    "an entry without a body": (listing(TABLE, '{"chain":null}'),
                                "nftables[1].chain: not an object"),
    "an object before its table": (listing(CHAIN, TABLE),
                                   "nftables[0].chain: listed before its table"),
    "an object of another table": (listing(TABLE, CHAIN.replace('"t"', '"u"')),
                                   "nftables[1].chain: of another table"),
    "an object of another family": (listing(TABLE, CHAIN.replace("inet", "ip")),
                                    "nftables[1].chain: of another table"),
    "a name missing": (listing(TABLE, '{"set":{"family":"inet","table":"t"}}'),
                       "nftables[1].set.name: missing, or not a string"),
    "a name that is none": (listing(TABLE, CHAIN.replace('"c"', "7")),
                            "nftables[1].chain.name: missing, or not a string"),
    "a chain twice": (listing(TABLE, CHAIN, CHAIN),
                      "nftables[2].chain: listed before under the same name"),
    "a rule of no chain": (listing(TABLE, RULE),
                           "nftables[1].rule: of a chain that is not listed"),
    "a rule without expressions": (listing(TABLE, CHAIN, RULE.replace('"expr"', '"x"')),
                                   "nftables[2].rule: without expressions"),
    "elements that are none": (listing(TABLE, '{"set":{"family":"inet","table":"t",'
                                              '"name":"s","elem":5}}'),
                               "nftables[1].set: elements that are not an array"),
    "a terminal's escape": (listing(TABLE, CHAIN.replace('"c"', '"c\\u001b[2J"'),
                                    '{"chain\\u001b":[]}'),
                            "nftables[2].chain?: not an object"),
}


class Hostile(unittest.TestCase):
    def test_each_is_no_verdict(self):
        for name, (data, said) in HOSTILE.items():
            for verb in ("normalize", "digest"):
                with self.subTest(name, verb=verb):
                    data = data.encode() if isinstance(data, str) else data
                    status, out, err = ask(verb, data)
                    self.assertEqual((status, out), (4, b""), err)
                    self.assertTrue(err.startswith("net-policy: could not tell: "), err)
                    self.assertIn(said, err)
                    self.assertEqual(err.count("\n"), 1)

    def test_every_cut_is_seen(self):
        with open(os.path.join(FOLDER, "kept.json"), "rb") as file:
            data = file.read().strip()
        for end in range(0, len(data), 97):
            status, out, _ = ask("digest", data[:end], "netproof")
            self.assertEqual((status, out), (4, b""), end)

    def test_a_table_must_be_named(self):
        done = subprocess.run([NET_POLICY, "digest"], input=listing(TABLE).encode(),
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, b""))


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
