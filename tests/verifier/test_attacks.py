#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody would try who wants net-verify to accept what it must not: bytes that
readers of JSON disagree on, stores and files made of parts of others, and evidence that
is told otherwise in every place at once.

Whatever is shown of it carries no byte that a terminal or a page would act on."""
import copy
import hashlib
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402
from spans import encode  # noqa: E402

FORMATS = ("human", "json", "tap", "junit", "sarif", "html")
ZERO = b'"containers":0'


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def forms(record):
    """Name to bytes that say the same, or nearly, to some reader."""
    first = b'{"catalog_sha256"'
    again = b'{"%s":"' + b"0" * 64 + b'","catalog_sha256"'
    return {
        "newline at the end": record + b"\n", "blank before": b" " + record,
        "byte order mark": b"\xef\xbb\xbf" + record, "NUL at the end": record + b"\0",
        "two documents": record + record, "comment": record[:-1] + b"/**/}",
        "key twice": record.replace(first, again % b"catalog_sha256", 1),
        "key twice, once escaped": record.replace(first, again % b"\\u0063atalog_sha256", 1),
        "key twice, once in capitals": record.replace(first, again % b"Catalog_sha256", 1),
        "escape": record.replace(b"same_boot", b"\\u0073ame_boot"),
        "homoglyph": record.replace(b"same_boot", "s\u0430me_boot".encode()),
        "overlong UTF-8": record.replace(b"same_boot", b"\xc1\xb3ame_boot"),
        "lone surrogate": record.replace(b"same_boot", b"\\ud800"),
        "written backwards": record.replace(b"same_boot", "same\u202eboot".encode()),
        "escape sequence in a key": record[:-1] + b',"\\u001b[2Jzz":1}',
        "raw escape sequence": record.replace(b"same_boot", b"\x1b[2J"),
        "mark up": record.replace(b"same_boot", b"<script>alert(1)</script>"),
        "exponent": record.replace(ZERO, ZERO + b"e0"), "-0": record.replace(ZERO, ZERO[:-1] + b"-0"),
        "float": record.replace(ZERO, ZERO + b".0"), "00": record.replace(ZERO, ZERO + b"0"),
        "2^64": record.replace(ZERO, ZERO[:-1] + b"18446744073709551616"),
        "false for 0": record.replace(ZERO, ZERO[:-1] + b"false"),
        "deep": b"[" * 5000 + record + b"]" * 5000,
    }


def move(record, change):
    """Every time in the record, moved."""
    if isinstance(record, dict):
        return {key: value + change if key.endswith("at_unix") else move(value, change)
                for key, value in record.items()}
    return [move(item, change) for item in record] if isinstance(record, list) else record


def probes(record, phase=None):
    return [probe for one in record["phases"] if phase in (None, one["phase"])
            for probe in one["probes"]]


def began_early(case):
    phase = case["record"]["phases"][2]
    for probe in phase["probes"]:
        numbers = probe["evidence"]
        numbers["elapsed_us"] = (numbers["at_unix"] - phase["started_at_unix"]) * 10 ** 6


def other_candidates(case):
    case["profile"]["candidate_tcp"][0].update(address="10.9.9.9")


def swapped(case):
    case["pre"], case["post"] = case["post"], case["pre"]


def shown_twice(case):
    case["post"] = copy.deepcopy(case["pre"])


def tomorrow(case):
    case["post"]["checked_at_unix"] += 86400


def other_boot(case):
    case["post"]["host"]["boot_id"] = "00000000-0000-4000-8000-000000000000"


def moved(case):
    """Yesterday's record, with all times of today, under today's preflights."""
    case["record"] = move(case["record"], 86400)
    for word in ("pre", "post"):
        case[word]["checked_at_unix"] += 86400


def backwards(case):
    first, second = case["record"]["phases"][:2]
    for key in ("started_at_unix", "completed_at_unix"):
        first[key], second[key] = second[key], first[key]


def reordered(case):
    listed = case["record"]["phases"][0]["probes"]
    listed[5], listed[6] = listed[6], listed[5]


def one_more(case):
    listed = case["record"]["phases"][0]["probes"]
    listed.insert(5, copy.deepcopy(listed[5]))


def one_for_another(case):
    """A probe that went well, under the name of one that did not."""
    listed = case["record"]["phases"][0]["probes"]
    listed[6] = {**copy.deepcopy(listed[5]), "id": listed[6]["id"],
                 "evidence": listed[0]["evidence"]}


def bases_swapped(case):
    listed = probes(case["record"], "active")
    one = next(p for p in listed if p["basis"] == "control")
    other = next(p for p in listed if p["basis"] == "listener")
    for key in ("basis", "evidence"):
        one[key], other[key] = other[key], one[key]


def other_catalog(case):
    for word in ("release", "record", "pre", "post"):
        case[word]["catalog_sha256"] = "1" * 64


def all_conclusive(case):
    """A leak, called a match."""
    probe = next(p for p in probes(case["record"]) if p["id"] == "candidate.public")
    probe.update(observed="connected", matched=True, conclusive=True)


def expected_otherwise(case):
    probe = next(p for p in probes(case["record"]) if p["id"] == "candidate.public")
    probe.update(expect="connected", observed="connected", basis="outcome")


def another_profile_s_times(case):
    case["record"]["inputs"]["expires_at_unix"] += 60


# What is told otherwise, and a code that must be found. The first two passed once.
TOLD = {began_early: "expiry-early", other_candidates: "candidates", swapped: "time-order",
        shown_twice: "post-is-pre", tomorrow: "too-long", other_boot: "boot",
        moved: "profile-times", backwards: "phase-overlap", reordered: "probe-order",
        one_more: "probe-repeated", one_for_another: "probe-basis",
        bases_swapped: "probe-basis", other_catalog: "catalog",
        all_conclusive: "probe-matched", expected_otherwise: "probe-expect",
        another_profile_s_times: "profile-times"}


def bind(case):
    """Bytes of each, with every digest that a forger makes anew made anew."""
    files = {word: encode(case[word]) for word in real.PINNED}
    for word in ("pre", "post"):
        case[word].update(daemon_sha256=sha256(encode(case[word]["daemon"])),
                          site_sha256=sha256(files["site"]),
                          release_sha256=sha256(files["release"]))
        files[word] = encode(case[word])
    record = case["record"]
    record["site_sha256"] = sha256(files["site"])
    record["release"]["release_sha256"] = sha256(files["release"])
    record["inputs"]["profile_sha256"] = sha256(files["profile"])
    record["pre_collection_preflight_sha256"] = sha256(files["pre"])
    files["record"] = encode(record)
    return files


class AttackTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(evidence.Folder())
        self.store = os.path.join(self.folder, "store")
        self.names = real.write(self.folder, real.read("rootless-netns"))
        self.options = evidence.arguments(self.folder, self.names["post"])

    def run_record(self, *words):
        return subprocess.run([evidence.VERIFY, "record", *words], capture_output=True,
                              check=False)

    def refused(self, *words, code=None):
        done = self.run_record(*words, "--format", "json", self.names["record"])
        self.assertEqual(done.returncode, 1, done.stdout)
        if code:
            self.assertEqual([f["code"] for f in json.loads(done.stdout)["findings"]], [code])

    def test_forms(self):
        record = real.read("rootless-netns")["record"]
        for name, data in forms(record).items():
            self.assertNotEqual(data, record, name)
            sha = evidence.put(self.store, data)
            for word in FORMATS:
                with self.subTest(name, format=word):
                    done = self.run_record(*self.options, "--format", word, sha)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(b"record-form", done.stdout)
                    self.assertNotRegex(done.stdout + done.stderr, rb"[^\n\x20-\x7e]")
                    self.assertNotIn(b"<script", done.stdout if word == "html" else b"")

    def test_told_otherwise(self):
        for change, code in TOLD.items():
            with self.subTest(change.__name__), evidence.Folder() as folder:
                case = real.values("rootless-netns")
                change(case)
                names = real.write(folder, bind(case))
                status, _, codes = evidence.review(folder, names["record"], names["post"])
                self.assertEqual(status, 1)
                self.assertIn(code, codes)

    def test_bound_again_it_still_stands(self):
        """What test_told_otherwise changes was accepted before."""
        with evidence.Folder() as folder:
            names = real.write(folder, bind(real.values("rootless-netns")))
            self.assertEqual(evidence.review(folder, names["record"], names["post"])[0], 0)

    def test_other_objects_in_a_record_s_place(self):
        for post, record, code in (
                ("post", "post", b"record-form"), ("post", "pre", b"record-form"),
                ("pre", "record", b"post-is-pre"), ("record", "record", b"post-form")):
            with self.subTest(post=post, record=record):
                done = self.run_record(*self.options[:-1], self.names[post],
                                       self.names[record])
                self.assertEqual(done.returncode, 1)
                self.assertIn(code, done.stdout)

    def test_stores_of_parts(self):
        other = os.path.join(self.folder, "other")
        os.mkdir(other, 0o700)
        files = real.read("rootless-netns")
        for word in ("record", "post"):
            evidence.put(other, files[word])
        options = ["--store", other, *self.options[2:]]
        pre = os.path.join(other, self.names["pre"])
        there = os.path.join(self.store, self.names["pre"])
        self.refused(*options, code="pre-object")
        for make in (os.symlink, os.link, lambda _, to: os.mkdir(to, 0o400),
                     lambda _, to: os.mkfifo(to, 0o400)):
            make(there, pre)
            self.refused(*options, code="pre-object")
            os.rmdir(pre) if os.path.isdir(pre) and not os.path.islink(pre) else os.unlink(pre)

    def test_the_store_itself(self):
        link = os.path.join(self.folder, "link")
        os.symlink(self.store, link)
        for path in (link, self.store + "/../store", "store", self.store + "/"):
            self.refused("--store", path, *self.options[2:])
        os.chmod(self.store, 0o750)
        self.refused(*self.options)

    def test_pinned_files(self):
        for word, code in (("profile", "profile-file"), ("site", "site-file"),
                           ("release", "release-file")):
            place = self.options.index(f"--{word}") + 1
            path = self.options[place]
            with self.subTest(word):
                os.symlink(path, path + ".link")
                options = [*self.options[:place], path + ".link", *self.options[place + 1:]]
                self.refused(*options, code=code)
                os.link(path, path + ".hard")
                self.refused(*self.options, code=code)
                os.unlink(path + ".hard")
                os.chmod(path, 0o620)
                self.refused(*self.options, code=code)
                os.chmod(path, 0o600)
        os.chmod(self.folder, 0o777)
        self.refused(*self.options)
        os.chmod(self.folder, 0o700)

    def test_command_lines(self):
        record = self.names["record"]
        for words in ((*self.options, "--profile", self.options[3], record),
                      (*self.options[:2], "--profile", "", *self.options[4:], record),
                      self.options, (*self.options[:-1],),
                      (*self.options, record.upper()), (*self.options, "../store/" + record),
                      ("--stor", *self.options[1:], record),
                      (*self.options, "--format", "HTML", record)):
            with self.subTest(words[-3:]):
                done = self.run_record(*words)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertRegex(done.stderr, rb"\Anet-verify: usage: [^\n]+\n\Z")

    def test_a_full_disk_is_no_verdict(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([evidence.VERIFY, "record", *self.options,
                                   self.names["record"]], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertTrue(re.search("could not be written", done.stderr))


if __name__ == "__main__":
    unittest.main()
