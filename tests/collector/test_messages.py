#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every refusal of the collector says what to do next: what is wrong; then what to do.

Read from the source, because most of them take a host that is broken on purpose.
"""
import glob
import os
import re
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CALLS = ("diag_refuse", "end_session")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|\b(MEASURE_HINT_\w+)\b')
# A refusal that somebody else worded, handed on.
HANDED_ON = {"%s", "%s: %s"}


def calls(text):
    """The arguments of each call, as they stand in the source."""
    for found in re.finditer(rf"\b(?:{'|'.join(CALLS)})\(", text):
        depth, at, quoted = 1, found.end(), False
        while depth:
            character = text[at]
            if character == "\\":
                at += 1
            elif character == '"':
                quoted = not quoted
            elif not quoted:
                depth += (character == "(") - (character == ")")
            at += 1
        yield text.count("\n", 0, found.start()) + 1, text[found.end():at - 1]


def arguments(call):
    """Split at the commas between arguments."""
    found, depth, quoted, start = [], 0, False, 0
    for at, character in enumerate(call):
        if character == '"' and call[at - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and not depth:
                found.append(call[start:at])
                start = at + 1
    return found + [call[start:]]


def message(call):
    """The first argument that is a text of ours, its parts joined; the place comes before."""
    texts = ["".join(one or "; " + hint for one, hint in STRING.findall(argument))
             for argument in arguments(call)[2:]]
    return next((text for text in texts if text), "")


class Messages(unittest.TestCase):
    def test_each_refusal_says_what_to_do_next(self):
        seen, silent = 0, []
        for path in sorted(glob.glob(f"{TOP}/collector/**/*.c", recursive=True)):
            with open(path, encoding="utf-8") as source:
                text = source.read()
            for line, call in calls(text):
                said = message(call)
                if call.startswith("struct ") or said in HANDED_ON:
                    continue
                seen += 1
                if not re.search(r"; |: run ", said):
                    silent.append(f"{os.path.relpath(path, TOP)}:{line}: {said}")
        self.assertGreater(seen, 80)
        self.assertEqual(silent, [])


if __name__ == "__main__":
    unittest.main()
