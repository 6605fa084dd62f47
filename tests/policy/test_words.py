#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A table cannot be called by a word of nft's language: the installed library's words are
those that a site refuses, and no verb takes such a site."""
import ctypes
import json
import os
import re
import unittest

import world as w  # which finds tests/lib, too
from world import netns

import nfnetlink as nf

LIBRARY = "libnftables.so.1"
OTHERS = ["netproof", "netproof_test", "ditto_coding_hosted", "output", "t", "counters"]


def library_path():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if LIBRARY in line)


class Words(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(w.TOP, "policy/words.c"), encoding="utf-8") as source:
            table = source.read().split("words[] = {")[1].split("};")[0]
        self.ours = set(re.findall(r'"([^"]+)"', table))

    def test_the_librarys_words(self):
        library = ctypes.CDLL(LIBRARY)
        library.nft_ctx_new.restype = ctypes.c_void_p
        with netns.Namespace() as space, space.entered():
            nft = ctypes.c_void_p(library.nft_ctx_new(0))
            library.nft_ctx_set_dry_run(nft, True)
            library.nft_ctx_buffer_error(nft)
            with open(library_path(), "rb") as file:
                # Its parser's names of what it reads, as its messages show them.
                names = set(re.findall(rb'"([a-z][a-z0-9_]*)"', file.read()))
            self.assertGreater(len(names), 100)
            tried = {name.decode() for name in names} | self.ours | set(OTHERS)
            refused = {name for name in tried if library.nft_run_cmd_from_buffer(
                nft, f"add table inet {name}\n".encode())}
            library.nft_ctx_free(nft)
        self.assertGreater(len(refused), 100)
        self.assertEqual(refused - self.ours, set())
        self.assertFalse(refused & set(OTHERS))

    def test_no_verb_takes_such_a_site(self):
        with w.World() as world:
            profile = world.issue()
            with open(world.site, encoding="utf-8") as file:
                site = json.load(file)
            for name in ("counter", "inet", "table"):
                world.write("site.json", {**site, "table": name})
                for verb in (["compile", "--profile", profile, *world.of_site()],
                             ["guard", *world.of_site()], ["revoke", *world.of_site()],
                             ["install", "--profile", profile, *world.of_site()],
                             ["diff", "--profile", profile, *world.of_site()],
                             ["show", "--site", world.site]):
                    with self.subTest(name, verb=verb[0]):
                        done = world.policy(*verb, check=False)
                        self.assertEqual((done.returncode, done.stdout), (1, b""))
                        self.assertIn(b"site.json: table: not a table name ", done.stderr)
                listed = world.host.run([netns.NFT, "list", "tables"]).stdout
                self.assertEqual(listed, b"")

    def test_a_table_that_somebody_made_by_hand(self):
        """Its listing can be had from nobody; its kernel form can."""
        with netns.Namespace() as space:
            with space.entered():
                link = nf.Link()
            with link:
                link.commit(nf.table("counter"), nf.chain("counter", "c"))
            done = space.run([w.NET_POLICY, "kernel-form", "--table", "counter"])
            self.assertIn(b"table inet counter", done.stdout)
        listing = json.dumps({"nftables": [{"table": {"family": "inet", "name": "counter",
                                                      "handle": 1}}]}).encode()
        with netns.Namespace() as space:
            done = space.run([w.NET_POLICY, "normalize", "--table", "counter"], listing)
            self.assertEqual(json.loads(done.stdout),
                             [{"table": {"family": "inet", "name": "counter"}}])


if __name__ == "__main__":
    netns.exit_on_signals()
    unittest.main()
