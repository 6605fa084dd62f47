#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A review says what was read, what was counted and what was found, and nothing else; and
each probe has its word."""
import hashlib
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402

DIGESTS = {"profile_sha256": "profile", "site_sha256": "site", "release_sha256": "release",
           "record_sha256": "record", "pre_collection_preflight_sha256": "pre",
           "post_collection_preflight_sha256": "post"}
BASES = ("outcome", "control", "listener_gone", "none")
# The probe, what it is made to have observed, and its word.
WORDS = (("candidate.public", "timeout", "ok"),
         ("candidate.public", "connected", "LEAK"),
         ("candidate.public", "probe_error", "unmatched"),
         ("worker.trusted.established_after_expiry", "timeout", "ok"),
         ("worker.trusted.established_after_expiry", "connected", "LEAK"),
         ("worker.trusted.established_after_expiry", "probe_error", "unmatched"),
         ("candidate.router.connect", "connected", "ok"),
         ("candidate.router.connect", "refused", "unmatched"),
         ("candidate.proxy.connect", "timeout", "unmatched"),
         ("candidate.router.source", "other_address", "unmatched"))


def counts(record):
    probes = [probe for phase in record["phases"] for probe in phase["probes"]]
    return {"probes": len(probes), "probes_matched": sum(p["matched"] for p in probes),
            "probes_conclusive": sum(p["conclusive"] for p in probes)}


class ReviewTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(evidence.Folder())

    def write(self, name):
        self.files = real.read(name)
        self.names = real.write(self.folder, self.files)

    def review(self, record=None):
        return evidence.review(self.folder, record or self.names["record"],
                               self.names["post"])[:2]

    def digests(self, *missing):
        return {key: hashlib.sha256(self.files[word]).hexdigest()
                for key, word in DIGESTS.items() if word not in missing}

    def check(self, review, judgement, *missing, **others):
        """All that is in a review but its findings and the checks."""
        self.assertEqual(
            {key: value for key, value in review.items()
             if key not in ("findings", "checks_built_in", "checks_passed")},
            {"schema": "netproof.review.v1", "judgement": judgement,
             "approval_generated": False, "findings_found": len(review["findings"]),
             **self.digests(*missing), **others})
        self.assertEqual(review["checks_passed"] == review["checks_built_in"],
                         judgement == "verified")

    def test_of_a_record_that_stands(self):
        for name, judgement in (("rootless-netns", "verified"), ("rootless-netns-32", "verified"),
                                ("host", "unmatched")):
            self.write(name)
            _, review = self.review()
            counted = counts(json.loads(self.files["record"]))
            self.check(review, judgement, **counted)
            self.assertEqual(counted["probes"] == counted["probes_matched"],
                             judgement == "verified")

    def test_of_a_probe_that_is_not_conclusive(self):
        self.write("rootless-netns")
        record = json.loads(self.files["record"])
        real.make_inconclusive(record)
        self.files["record"] = evidence.samples.canonical(record)
        name = evidence.put(os.path.join(self.folder, "store"), self.files["record"])
        _, review = self.review(name)
        self.check(review, "inconclusive", **counts(record))

    def test_what_could_not_be_read_has_no_digest(self):
        self.write("rootless-netns")
        counted = counts(json.loads(self.files["record"]))
        for word in real.PINNED:
            path = os.path.join(self.folder, word + ".json")
            with open(path, "wb") as file:
                file.write(b"{}")
            _, review = self.review()
            self.check(review, "refused", word, **counted)
            with open(path, "wb") as file:
                file.write(self.files[word])
        _, review = self.review("1" * 64)
        self.check(review, "refused", "pre", record_sha256="1" * 64, probes=0,
                   probes_matched=0, probes_conclusive=0)

    def test_a_text_has_the_form_that_is_kept(self):
        """A key's name is somebody else's text: what could end it, or be taken for an
        escape, is a question mark."""
        self.write("rootless-netns")
        with open(os.path.join(self.folder, "profile.json"), "w", encoding="utf-8") as file:
            json.dump({**json.loads(self.files["profile"]), 'a !~b"c\\d\x01\x7f': 1}, file)
        _, review = self.review()
        (finding,) = review["findings"]
        self.assertIn("profile.json: a !~b?c?d??: unknown key", finding["found"])

    def test_the_word_of_a_probe(self):
        """For people; whichever basis its numbers carry."""
        self.write("rootless-netns")
        for name, observed, word in WORDS:
            record = json.loads(self.files["record"])
            probe = real.probe(record, name)
            if observed != probe["observed"]:
                probe.update(observed=observed, matched=False)
            stored = []
            for basis in (probe["basis"], *BASES):
                probe.update(basis=basis, conclusive=basis != "none")
                stored.append(evidence.put(os.path.join(self.folder, "store"),
                                           evidence.samples.canonical(record)))
            done = evidence.verify(self.folder, stored, self.names["post"])
            standing = [part for part in re.split(r"(?m)^(?=[0-9a-f]{64}: )", done.stdout)
                        if re.match("[0-9a-f]{64}: (verified|unmatched)", part)]
            self.assertTrue(standing, (name, observed, done.stdout))
            self.assertRegex(standing[0], rf"(?m)^ *{re.escape(name)} .* {word}$")


if __name__ == "__main__":
    unittest.main()
