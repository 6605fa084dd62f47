#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-verify record: what stands is verified, every code of the catalogue is reached
by a case of its own, and no pin can be left out.

tests/verifier/codes/CODE/case.json holds, for each code: the changes made to a case
that is verified, with every digest a forger could make anew made anew, and exactly
the codes that must be found."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402

CODES = os.path.join(os.path.dirname(__file__), "codes")


def catalogue():
    """The codes that the verifier has, from its own source."""
    with open("verifier/finding.c", encoding="utf-8") as file:
        return set(re.findall(r'\] =\s*\{\s*"([a-z-]+)"', file.read()))


def walk(document, pointer):
    parts = pointer.split("/")[1:]
    for part in parts[:-1]:
        document = document[int(part) if isinstance(document, list) else part]
    last = int(parts[-1]) if isinstance(document, list) else parts[-1]
    return document, last


def apply(case, change):
    document = getattr(case, change["in"])
    if "set" in change:
        holder, key = walk(document, change["set"])
        value = change["to"]
        if isinstance(value, str) and value.startswith("@"):
            other, name = walk(document, value[1:])
            value = other[name]
        holder[key] = value
    elif "remove" in change:
        holder, key = walk(document, change["remove"])
        del holder[key]
    elif "repeat" in change:
        holder, key = walk(document, change["repeat"])
        holder.insert(key, holder[key])
    else:
        left, key = walk(document, change["swap"])
        right, other = walk(document, change["with"])
        left[key], right[other] = right[other], left[key]


def damage(folder, names, what, how):
    path = (os.path.join(folder, "site.json") if what == "site"
            else os.path.join(folder, "store", names[what]))
    if how == "remove":
        os.unlink(path)
    elif how == "mode":
        os.chmod(path, 0o644)
    elif how == "flip":
        with open(path, "r+b") as file:
            byte = file.read(1)
            file.seek(0)
            file.write(bytes([byte[0] ^ 1]))
    else:
        with open(path, "w", encoding="ascii") as file:
            file.write("{}")


class RecordTest(unittest.TestCase):
    maxDiff = None

    def test_what_stands_is_verified(self):
        for options in ({}, {"trusted": 32}, {"trusted": 3, "dns": 2},
                        {"site": "ditto-coding-hosted"}):
            with self.subTest(options), evidence.Folder() as folder:
                case = evidence.Case(**options)
                names = case.write(folder)
                status, review, codes = evidence.review(folder, names["record"],
                                                        names["post"])
                self.assertEqual((status, codes), (0, set()))
                self.assertEqual(review["judgement"], "verified")
                self.assertEqual(review["checks_passed"], review["checks_built_in"])
                self.assertIs(review["approval_generated"], False)

    def test_records_of_real_hosts(self):
        """A router in the engine's namespace: all is well. One on the host: behind
        slirp4netns its listener sees the host's address, and the record says so."""
        wanted = {"host": (3, {"probe-unmatched"}), "rootless-netns": (0, set()),
                  "rootless-netns-32": (0, set())}
        self.assertEqual(real.names(), sorted(wanted))
        for name in wanted:
            with self.subTest(name), evidence.Folder() as folder:
                names = real.write(folder, real.read(name))
                status, _, codes = evidence.review(folder, names["record"], names["post"])
                self.assertEqual((status, codes), wanted[name])

    def test_every_code_has_its_case(self):
        self.assertEqual(set(os.listdir(CODES)), catalogue())

    def test_codes(self):
        for name in sorted(os.listdir(CODES)):
            with open(os.path.join(CODES, name, "case.json"), encoding="ascii") as file:
                wanted = json.load(file)
            with self.subTest(name), evidence.Folder() as folder:
                case = evidence.Case()
                for change in wanted["changes"]:
                    apply(case, change)
                if not wanted.get("keep"):
                    case.rebind()
                names = case.write(folder)
                for what, how in wanted.get("after", {}).items():
                    damage(folder, names, what, how)
                status, review, codes = evidence.review(folder, names["record"],
                                                        names["post"])
                self.assertIn(name, codes)
                self.assertEqual(codes, set(wanted["codes"]))
                self.assertEqual(status, wanted["status"])
                self.assertNotEqual(review["judgement"], "verified")
                for finding in review["findings"]:
                    self.assertTrue(finding["next"])

    def test_what_was_expected_is_said(self):
        start = evidence.samples.START
        for place, value, expected in (
                ("/residue/files", 2, "0"),
                ("/phases/3/agents/2/seccomp", 0, "2"),
                ("/phases/0/agents/1/end_sha256", "0" * 64,
                 evidence.samples.digest("net-probe")),
                ("/completed_at_unix", start + 74, f"at least {start + 75}"),
                ("/residue/measured_at_unix", start + 99, f"{start + 75} to {start + 81}")):
            with self.subTest(place), evidence.Folder() as folder:
                case = evidence.Case()
                apply(case, {"in": "record", "set": place, "to": value})
                names = case.write(folder)
                _, review, _ = evidence.review(folder, names["record"], names["post"])
                self.assertIn((place, expected, str(value)),
                              [(f["pointer"], f["expected"], f["found"])
                               for f in review["findings"]])

    def test_a_missing_pin_is_a_usage_error(self):
        with evidence.Folder() as folder:
            names = evidence.Case().write(folder)
            whole = evidence.arguments(folder, names["post"])
            for i in range(0, len(whole), 2):
                with self.subTest(whole[i]):
                    done = subprocess.run(
                        [evidence.VERIFY, "record", *whole[:i], *whole[i + 2:],
                         names["record"]], capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertEqual(done.stdout, "")
                    self.assertIn(f"{whole[i]} is missing", done.stderr)

    def test_several_records_are_judged_one_by_one(self):
        with evidence.Folder() as folder:
            good = evidence.Case()
            bad = evidence.Case()
            bad.record["residue"]["files"] = 2
            bad_name = bad.write(folder)["record"]
            kept = os.path.join(folder, "bad")
            os.rename(os.path.join(folder, "store", bad_name), kept)
            names = good.write(folder)
            os.rename(kept, os.path.join(folder, "store", bad_name))
            done = evidence.verify(folder, [names["record"], bad_name, "0" * 64],
                                   names["post"], "--format", "json")
            self.assertEqual([json.loads(line)["judgement"]
                              for line in done.stdout.splitlines()],
                             ["verified", "refused", "refused"])
            self.assertEqual(done.returncode, 1)

    def test_the_same_verdict_at_any_time_and_place(self):
        with evidence.Folder() as one, evidence.Folder() as other:
            names = evidence.Case().write(one)
            evidence.Case().write(other)
            first = evidence.verify(one, names["record"], names["post"], "--format", "json")
            second = evidence.verify(other, names["record"], names["post"], "--format", "json")
            self.assertEqual(first.stdout, second.stdout)


class FormatTest(unittest.TestCase):
    """No format says "pass" of what is not verified."""

    def outputs(self, change=None):
        with evidence.Folder() as folder:
            case = evidence.Case(trusted=2)
            if change:
                change(case)
            names = case.write(folder)
            for name in ("human", "tap", "junit", "sarif", "html"):
                yield name, evidence.verify(folder, names["record"], names["post"],
                                            "--format", name)

    @staticmethod
    def inconclusive(case):
        probe = case.record["phases"][0]["probes"][6]
        probe["evidence"]["control"]["after"]["outcome"] = "timeout"
        probe.update(basis="none", conclusive=False)

    @staticmethod
    def refused(case):
        case.record["residue"]["files"] = 1

    def check_words(self, name, text):
        self.assertNotRegex(text, r"(?i)\b(skip|todo)\b", name)

    def test_verified(self):
        for name, done in self.outputs():
            with self.subTest(name):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if name == "junit":
                    root = xml.etree.ElementTree.fromstring(done.stdout)
                    suite = root.find("testsuite")
                    self.assertEqual(suite.get("failures"), "0")
                    self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
                    # Jenkins and others drop cases, or whole reports, without a time.
                    times = [float(case.get("time")) for case in suite.findall("testcase")]
                    self.assertAlmostEqual(sum(times), float(suite.get("time")), places=5)
                elif name == "sarif":
                    results = json.loads(done.stdout)["runs"][0]["results"]
                    self.assertEqual([r["kind"] for r in results], ["pass"])
                    # SARIF 2.1.0, 3.27.10: of what is no failure the level is "none".
                    self.assertEqual([r["level"] for r in results], ["none"])
                elif name == "tap":
                    self.check_words(name, done.stdout)
                    self.assertNotIn("not ok", done.stdout)
                    self.assertNotIn("1..0", done.stdout)
                elif name == "html":
                    self.assertNotRegex(done.stdout, r"(?i)<script|https?://|url\(")

    def test_prove_agrees(self):
        """TAP's best known reader passes what is verified, and nothing else."""
        for change, passes in ((None, True), (self.inconclusive, False), (self.refused, False)):
            shown = dict(self.outputs(change))["tap"].stdout
            with tempfile.NamedTemporaryFile("w", suffix=".tap") as file:
                file.write(shown)
                file.flush()
                done = subprocess.run(["prove", "--exec", "cat", file.name],
                                      capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode == 0, passes, done.stdout)
            self.assertNotIn("Parse errors", done.stdout)

    def test_inconclusive_is_an_error(self):
        for name, done in self.outputs(self.inconclusive):
            with self.subTest(name):
                self.assertEqual(done.returncode, 3)
                if name == "junit":
                    suite = xml.etree.ElementTree.fromstring(done.stdout).find("testsuite")
                    self.assertEqual((suite.get("failures"), suite.get("errors")), ("0", "2"))
                    self.assertEqual(len(suite.findall("testcase/error")), 2)
                elif name == "sarif":
                    results = json.loads(done.stdout)["runs"][0]["results"]
                    self.assertEqual({r["level"] for r in results}, {"error"})
                elif name == "tap":
                    self.check_words(name, done.stdout)
                    self.assertRegex(done.stdout, r"(?m)^not ok 1 ")
                    self.assertRegex(done.stdout, r"(?m)^    not ok \d+ - candidate.public")

    def test_refused_shows_no_table(self):
        for name, done in self.outputs(self.refused):
            with self.subTest(name):
                self.assertEqual(done.returncode, 1)
                self.assertNotIn("candidate.public", done.stdout)

    def test_statement_of_verified_records_alone(self):
        with evidence.Folder() as folder:
            names = evidence.Case().write(folder)
            done = evidence.verify(folder, names["record"], names["post"], "--export",
                                   "in-toto")
            self.assertEqual(done.returncode, 0)
            statement = json.loads(done.stdout)
            self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
            self.assertEqual(statement["subject"][0]["digest"]["sha256"], names["record"])
            self.assertIs(statement["predicate"]["approval_generated"], False)
            case = evidence.Case()
            self.refused(case)
            names = case.write(folder)
            done = evidence.verify(folder, names["record"], names["post"], "--export",
                                   "in-toto")
            self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
