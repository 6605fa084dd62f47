#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The exit status of several records: 1 before 4 before 3 before 0, in whatever order
they are given, and each has its own entry in every format.

The record that could not be told is one whose opening strace makes fail with EIO; for
that the program is built without its filter, which no faked call survives."""
import itertools
import json
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402

UNCONFINED = os.environ.get("VERIFY_UNCONFINED", "build/tests/verify_unconfined")
WORDS = {0: "verified", 1: "refused", 3: "unmatched", 4: "could not tell"}
GRAVITY = (0, 3, 4, 1)


def changed(record, change):
    record = json.loads(json.dumps(record))
    change(record)
    return evidence.samples.canonical(record)


def make_undecided(record):
    """Its name decides; this digest binds nothing."""
    record["inputs"]["config_sha256"] = "0" * 64


def make_refused(record):
    record["residue"]["files"] = 1


def make_unmatched(record):
    """Truly recorded: the public target was reached."""
    real.leak(record, "candidate.public")


class StatusesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(evidence.Folder())
        files = real.read("rootless-netns")
        cls.names = real.write(cls.folder, files)
        store = os.path.join(cls.folder, "store")
        record = json.loads(files["record"])
        cls.of = {0: cls.names["record"]}
        for status, change in ((1, make_refused), (3, make_unmatched), (4, make_undecided)):
            cls.of[status] = evidence.put(store, changed(record, change))

    def command(self, statuses, *options):
        return [UNCONFINED, "record", *evidence.arguments(self.folder, self.names["post"]),
                *options, *(self.of[status] for status in statuses)]

    def failing_opens(self, command):
        """Which of the openat2 calls open the record that could not be told."""
        trace = os.path.join(self.folder, "trace")
        subprocess.run(["strace", "-o", trace, "-e", "trace=openat2", *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with open(trace, encoding="utf-8") as file:
            opens = [line for line in file if line.startswith("openat2(")]
        return [i + 1 for i, line in enumerate(opens) if f'"{self.of[4]}"' in line]

    def run_with(self, statuses, *options):
        command = self.command(statuses, *options)
        inject = [word for number in (self.failing_opens(command) if 4 in statuses else ())
                  for word in ("-e", f"inject=openat2:error=EIO:when={number}")]
        if inject:
            self.assertEqual(len(inject), 2 * statuses.count(4))
            # strace takes one injection of each call, so one number or a range.
            first, last = (int(re.search(r"\d+$", word).group())
                           for word in (inject[1], inject[-1]))
            when = f"{first}..{last}" if last > first else str(first)
            command = ["strace", "-o", "/dev/null", "-e",
                       f"inject=openat2:error=EIO:when={when}", *command]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_one(self):
        for status in GRAVITY:
            with self.subTest(status):
                done = self.run_with([status])
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(f"{self.of[status]}: {WORDS[status]}\n", done.stdout)

    def test_all_pairs(self):
        for pair in itertools.product(GRAVITY, repeat=2):
            with self.subTest(pair):
                done = self.run_with(pair)
                self.assertEqual(done.returncode, max(pair, key=GRAVITY.index), done.stderr)
                said = re.findall(r"(?m)^[0-9a-f]{64}: (.*)$", done.stdout)
                self.assertEqual(said, [WORDS[status] for status in pair])

    def test_all_four_in_each_order(self):
        for order in itertools.permutations(GRAVITY):
            with self.subTest(order):
                self.assertEqual(self.run_with(order).returncode, 1)

    def test_formats_fold_nothing(self):
        statuses = (0, 4, 3)
        outputs = {name: self.run_with(statuses, "--format", name)
                   for name in ("json", "tap", "junit", "sarif", "html")}
        for name, done in outputs.items():
            self.assertEqual(done.returncode, 4, (name, done.stderr))
        reviews = [json.loads(line) for line in outputs["json"].stdout.splitlines()]
        self.assertEqual([review["schema"] for review in reviews],
                         ["netproof.review.v1", "netproof.undecided.v1",
                          "netproof.review.v1"])
        self.assertEqual(re.findall(r"(?m)^(ok|not ok) \d - ", outputs["tap"].stdout),
                         ["ok", "not ok", "not ok"])
        suites = xml.etree.ElementTree.fromstring(outputs["junit"].stdout)
        self.assertEqual([(suite.get("failures"), suite.get("errors")) for suite in suites],
                         [("0", "0"), ("0", "1"), ("2", "0")])
        results = json.loads(outputs["sarif"].stdout)["runs"][0]["results"]
        self.assertEqual([result["ruleId"] for result in results],
                         ["verified", "could-not-tell", "probe-unmatched"])
        self.assertEqual(re.findall(r'class="verdict (\w+)"', outputs["html"].stdout),
                         ["verified", "unknown", "unmatched"])

    def test_without_a_statement_the_status_is_the_same(self):
        for status in GRAVITY:
            with self.subTest(status):
                done = self.run_with([status], "--export", "in-toto")
                self.assertEqual((done.returncode, bool(done.stdout)),
                                 (status, status == 0), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), int(status != 0))

    def test_a_statement_of_the_verified_one_alone(self):
        done = self.run_with((0, 4, 3), "--export", "in-toto")
        self.assertEqual(done.returncode, 4)
        statements = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([s["subject"][0]["digest"]["sha256"] for s in statements],
                         [self.of[0]])
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
