#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Normalized entries and the semantic digest: recorded listings are what the kernel
still gives, each clause drops or keeps what it says, and a worker's cycle changes
nothing. `--record` writes the listings anew."""
import copy
import json
import os
import subprocess
import sys
import unittest

import test_chainwise as chainwise
import world as w
from world import netns

FIXTURES = os.path.join(w.TOP, "fixtures/nft")
NAMES = ("guard", "inert", "kept")


def record(name):
    """The fixture's rules, loaded into a namespace and listed."""
    with netns.Namespace() as space:
        with open(os.path.join(FIXTURES, name + ".nft"), "rb") as file:
            space.run([netns.NFT, "-f", "-"], input=file.read())
        listing = chainwise.listing_of(space, "netproof")
        if chainwise.in_pieces(space, "netproof").stdout != listing:
            raise AssertionError(f"{name}: chain by chain it is listed otherwise")
        return listing


def recorded(name):
    with open(os.path.join(FIXTURES, name + ".json"), "rb") as file:
        return file.read()


def policy(verb, listing, table="netproof"):
    data = listing if isinstance(listing, bytes) else json.dumps(listing).encode()
    return subprocess.run([w.NET_POLICY, verb, "--table", table], input=data,
                          capture_output=True, check=False)


def digest(listing):
    done = policy("digest", listing)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["nft_ruleset_semantic_sha256"]


class Listings(unittest.TestCase):
    def test_what_was_recorded_is_what_the_kernel_gives(self):
        for name in NAMES:
            with self.subTest(name):
                live, kept = policy("normalize", record(name)), policy("normalize",
                                                                      recorded(name))
                self.assertEqual((live.returncode, kept.returncode), (0, 0))
                self.assertEqual(live.stdout, kept.stdout)
                self.assertEqual(digest(record(name)), digest(recorded(name)))

    def test_normalized(self):
        entries = json.loads(policy("normalize", recorded("kept")).stdout)
        text = json.dumps(entries)
        self.assertNotIn("metainfo", text)
        self.assertNotIn('"handle"', text)
        self.assertIn('"counter": {"bytes": 0, "packets": 0}', text)
        self.assertNotIn('"packets": 7', text)

    def test_broken_listings_are_no_verdict(self):
        whole = recorded("kept")
        listing = json.loads(whole)
        other = copy.deepcopy(listing)
        other["nftables"].append({"table": {"family": "inet", "name": "other", "handle": 9}})
        orphan = copy.deepcopy(listing)
        orphan["nftables"] = [e for e in orphan["nftables"]
                              if e.get("chain", {}).get("name") != "output"]
        bad = {"nothing": b"", "cut": whole[:-40], "no table": b'{"nftables": []}',
               "two documents": whole + whole, "another table": json.dumps(other).encode(),
               "a rule without its chain": json.dumps(orphan).encode(),
               "a number": b"1", "not an array": b'{"nftables": {}}'}
        for name, data in bad.items():
            for verb in ("normalize", "digest"):
                with self.subTest(name, verb=verb):
                    done = policy(verb, data)
                    self.assertEqual((done.returncode, done.stdout), (4, b""))
                    self.assertTrue(done.stderr.startswith(b"net-policy: could not tell: "))
        self.assertEqual(policy("digest", whole, "another").returncode, 4)


class Clauses(unittest.TestCase):
    """Of SPEC 5.4, each on a recorded listing."""

    def without(self, name, kind, which):
        listing = json.loads(recorded(name))
        before = len(listing["nftables"])
        listing["nftables"] = [e for e in listing["nftables"]
                               if e.get(kind, {}).get("name") != which]
        self.assertEqual(len(listing["nftables"]), before - 1)
        return listing

    def test_dropped(self):
        for kind, which in (("set", "unused"), ("map", "nothing"), ("chain", "idle"),
                            ("chain", "bare")):
            with self.subTest(which):
                self.assertEqual(digest(self.without("inert", kind, which)),
                                 digest(recorded("inert")))

    def test_kept(self):
        for kind, which in (("set", "used"), ("set", "full"), ("map", "chosen"),
                            ("chain", "target"), ("chain", "refusing"),
                            ("chain", "translating")):
            with self.subTest(which):
                self.assertNotEqual(digest(self.without("kept", kind, which)),
                                    digest(recorded("kept")))

    def changed(self, change):
        listing = json.loads(recorded("kept"))
        change(listing["nftables"])
        return digest(listing)

    def test_order_of_what_has_none(self):
        def turn(entries):
            objects = [e for e in entries if "rule" not in e]
            rules = [e for e in entries if "rule" in e]
            entries[:] = objects[:2] + objects[:1:-1] + rules
            for entry in entries:
                for kind in ("set", "map"):
                    if "elem" in entry.get(kind, {}):
                        entry[kind]["elem"].reverse()
                for part in entry.get("rule", {}).get("expr", []):
                    right = part.get("match", {}).get("right")
                    if isinstance(right, dict) and "set" in right:
                        right["set"].reverse()
        self.assertEqual(self.changed(turn), digest(recorded("kept")))

    def test_order_of_rules(self):
        def turn(entries):
            places = [i for i, e in enumerate(entries) if "rule" in e]
            entries[places[0]], entries[places[1]] = entries[places[1]], entries[places[0]]
        self.assertNotEqual(self.changed(turn), digest(recorded("kept")))

    def test_a_further_attribute_of_a_bare_chain_keeps_it(self):
        listing = json.loads(recorded("inert"))
        for entry in listing["nftables"]:
            if entry.get("chain", {}).get("name") == "bare":
                entry["chain"]["dev"] = "lo"
        self.assertNotEqual(digest(listing), digest(recorded("inert")))

    def test_counters_do_not_count(self):
        def count(entries):
            for entry in entries:
                for part in entry.get("rule", {}).get("expr", []):
                    if "counter" in part:
                        part["counter"].update(packets=5, bytes=6)
        self.assertEqual(self.changed(count), digest(recorded("kept")))


class Cycle(unittest.TestCase):
    def test_a_workers_start_and_stop_change_nothing(self):
        with w.World() as world:
            def live():
                done = world.host.run([w.NET_POLICY, "digest", "--table", world.table],
                                      input=json.dumps({"nftables": world.listing()}).encode())
                return done.stdout
            world.revoke()
            before = live()
            world.open_window()
            self.assertNotEqual(live(), before)
            world.revoke()
            self.assertEqual(live(), before)
            done = world.host.run([netns.NFT, "list", "table", "inet", world.table])
            self.assertIn(b"chain scoped_output", done.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        for fixture in NAMES:
            with open(os.path.join(FIXTURES, fixture + ".json"), "wb") as out:
                out.write(record(fixture))
        sys.exit(0)
    netns.exit_on_signals()
    unittest.main()
