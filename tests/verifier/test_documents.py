#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual has the catalogue of codes word for word; a review is of its schema.

  test_documents.py --print    the catalogue, as net-verify.1 must have it"""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "formats"))
import schema  # noqa: E402

MANUAL = "docs/man/net-verify.1"
SCHEMA = "docs/formats/review.schema.json"


def catalogue():
    """[(code, title, next)] from finding.c, its short names for texts put in."""
    with open("verifier/finding.c", encoding="utf-8") as file:
        text = file.read()
    for name, value in re.findall(r'#define (\w+) "(.*?)"$', text, re.M):
        text = re.sub(rf"(?<=[\s,]){name}(?=\}})", f'"{value}"', text)
    part = text.split("finding_kinds[FINDING_CODE_COUNT] = {", 1)[1].split("\n};", 1)[0]
    rows = []
    for row in re.findall(r"\[FINDING_\w+\] =\s*\{(.*?)\},\n", part + ",\n", re.S):
        row = re.sub(r'"\s+"', "", row)
        code, title, following = re.findall(r'"((?:[^"\\]|\\.)*)"', row)
        rows.append((code, *(t.replace('\\"', '"') for t in (title, following))))
    return rows


def manual_part():
    lines = []
    for code, title, following in catalogue():
        title, following = (re.sub(r'"(\w+)"', r"\\(dq\1\\(dq", t) for t in (title, following))
        lines += [f".It Cm {code}", title[0].upper() + title[1:] + ".",
                  f"Next: {following}."]
    return lines


class DocumentsTest(unittest.TestCase):
    def test_the_manual_has_every_code(self):
        with open(MANUAL, encoding="utf-8") as file:
            text = file.read()
        part = text.split(".Bl -tag -width Ds -compact\n.\\\" catalogue\n", 1)[1]
        self.assertEqual(part.split("\n.El", 1)[0].splitlines(), manual_part())
        self.assertGreater(len(catalogue()), 70)

    def reviews(self):
        for name in real.names():
            with evidence.Folder() as folder:
                names = real.write(folder, real.read(name))
                yield evidence.review(folder, names["record"], names["post"])[1]
                # Of a record that is not there, and with a pin that is no site.
                yield evidence.review(folder, "0" * 64, names["post"])[1]
                with open(os.path.join(folder, "site.json"), "w", encoding="ascii") as file:
                    file.write("{}")
                yield evidence.review(folder, names["record"], names["post"])[1]

    def test_reviews_are_of_their_schema(self):
        with open(SCHEMA, encoding="utf-8") as file:
            rules = json.load(file)
        for review in self.reviews():
            self.assertTrue(schema.valid(rules, review), review)
            for key in rules["required"]:
                self.assertFalse(schema.valid(rules, {k: v for k, v in review.items()
                                                      if k != key}))
            self.assertFalse(schema.valid(rules, {**review, "approval_generated": True}))
            self.assertFalse(schema.valid(rules, {**review, "approved": True}))


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print("\n".join(manual_part()))
    else:
        unittest.main()
