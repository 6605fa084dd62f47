#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-verify's report for people on a terminal: coloured, unless somebody does not want it,
and the same words whether or not."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import evidence  # noqa: E402
import real  # noqa: E402
import terminal  # noqa: E402


class Colours(unittest.TestCase):
    def each(self, name, status):
        """The command for that record, and what it prints into a pipe."""
        folder = self.enterContext(evidence.Folder())
        names = real.write(folder, real.read(name))
        command = [evidence.VERIFY, "record", *evidence.arguments(folder, names["post"]),
                   names["record"]]
        done = subprocess.run(command, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (status, b""))
        return command, done.stdout

    def test_on_a_terminal(self):
        command, piped = self.each("rootless-netns", 0)
        self.assertNotIn(b"\x1b", piped)
        status, shown = terminal.on_terminal(command, TERM="xterm")
        self.assertEqual(status, 0)
        self.assertEqual(terminal.plain(shown), piped)
        self.assertIn(b"\x1b[32m: verified\x1b[0m\n", shown)
        self.assertIn(b"\x1b[32m ok\x1b[0m\n", shown)
        self.assertNotIn(b"\x1b[1;31m", shown)

    def test_what_is_wrong_stands_out(self):
        command, piped = self.each("host", 3)
        status, shown = terminal.on_terminal(command, TERM="xterm")
        self.assertEqual(status, 3)
        self.assertEqual(terminal.plain(shown), piped)
        self.assertIn(b"\x1b[1;31m unmatched\x1b[0m\n", shown)

    def test_unless_somebody_does_not_want_it(self):
        command, piped = self.each("rootless-netns", 0)
        for variables in ({"NO_COLOR": "1", "TERM": "xterm"}, {"NO_COLOR": "no"},
                          {"TERM": "dumb"}):
            with self.subTest(variables):
                self.assertEqual(terminal.on_terminal(command, **variables), (0, piped))
        self.assertIn(b"\x1b", terminal.on_terminal(command, NO_COLOR="", TERM="xterm")[1])

    def test_other_formats_are_never_coloured(self):
        command, _ = self.each("rootless-netns", 0)
        for name in ("json", "tap", "junit", "sarif", "html"):
            with self.subTest(name):
                shown = terminal.on_terminal([*command, "--format", name], TERM="xterm")
                self.assertNotIn(b"\x1b", shown[1])


if __name__ == "__main__":
    unittest.main()
