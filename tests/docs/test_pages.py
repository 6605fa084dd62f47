#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual says what the programs say: every option, every command, every exit
status; every format that the code names has a page and a schema that agree; and
mandoc has nothing to warn of."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import programs

FORMATS = os.path.join(programs.TOP, "docs/formats")
MAN = os.path.join(programs.BUILD, "man")
FLAG = re.compile(r"\bFl -([a-z][a-z-]*)")
COMMANDS = re.compile(r"^\.(?:It )?Cm (.*)$", re.M)
EXIT_STATUSES = ["0", "1", "2", "3", "4"]
# What is of a format and not one that a file or a line is in.
OF_TESTS = {"netproof.connectivity.v1", "netproof.preflight.v3", "netproof.plan.v2"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def page_of(name):
    """The page's source, an alias followed as man(1) does."""
    path = next(iter(glob.glob(f"{MAN}/man[18]/{name}.[18]")), None)
    assert path, f"no page of {name}"
    text = read(path)
    alias = re.fullmatch(r"\.so (\S+)\n", text)
    return read(os.path.join(MAN, alias.group(1))) if alias else text


def section(text, name):
    return re.search(rf"^\.Sh {name}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S).group(1)


class Programs(unittest.TestCase):
    def test_options(self):
        said = {}
        for place in programs.places():
            # net-agent and net-once have one page with net-probe.
            name = "net-probe" if place[0] in ("net-agent", "net-once") else place[0]
            said.setdefault(name, set()).update(programs.options(*place))
        for name, options in said.items():
            with self.subTest(name):
                documented = {"--" + flag for flag in FLAG.findall(page_of(name))}
                self.assertEqual(documented, options)

    def test_commands(self):
        for name in programs.NAMES:
            said = " ".join(COMMANDS.findall(page_of(name))).replace(",", " ").split()
            for command in programs.commands(name):
                self.assertIn(command, said, name)

    def test_every_exit_status(self):
        for name in programs.NAMES:
            statuses = re.findall(r"^\.It (\d+)$", section(page_of(name), "EXIT STATUS"), re.M)
            self.assertEqual(statuses, EXIT_STATUSES, name)


class Pages(unittest.TestCase):
    def test_lint(self):
        """In a folder like the installed one: an alias names a page there."""
        pages = sorted(glob.glob(f"{MAN}/man?/*"))
        self.assertGreater(len(pages), len(programs.NAMES))
        for path in pages:
            text = read(path)
            if text.startswith(".so "):
                self.assertTrue(os.path.exists(os.path.join(MAN, text[4:].strip())), path)
                continue
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_every_reference_leads_somewhere(self):
        there = {os.path.basename(path) for path in glob.glob(f"{MAN}/man?/*")}
        for path in glob.glob(f"{MAN}/man?/*"):
            for name, number in re.findall(r"^\.Xr (net\S*) (\d)", read(path), re.M):
                self.assertIn(f"{name}.{number}", there, path)

    def test_lint_would_warn(self):
        with tempfile.NamedTemporaryFile("w", suffix=".8") as bad:
            bad.write(".Dd November 30, 2026\n.Dt X 8\n.Os\n.Sh DESCRIPTION\n.Fx y\n")
            bad.flush()
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", bad.name],
                                  capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)


class Formats(unittest.TestCase):
    def pages(self):
        """{schema: the page's path} of every page that is of a format."""
        found = {}
        for path in glob.glob(f"{FORMATS}/*.md"):
            title = re.match(r"# (netproof\.\w+\.v\d+|store): \S", read(path))
            self.assertTrue(title, path)
            found[title.group(1)] = path
        return found

    def test_every_format_in_the_code_has_its_page(self):
        pages = self.pages()
        sources = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=programs.TOP,
                                 text=True, capture_output=True, check=True).stdout.split()
        named = set()
        for path in sources:
            if not path.startswith("tests/"):
                named |= set(re.findall(r'"(netproof\.\w+\.v\d+)"',
                                        read(os.path.join(programs.TOP, path))))
        self.assertGreater(len(named), 10)
        self.assertEqual(named - OF_TESTS, set(pages) - {"store"})

    def test_page_and_schema_agree(self):
        for name, path in self.pages().items():
            if name == "store":
                continue
            text = read(path)
            schema = json.loads(read(path[:-len(".md")] + ".schema.json"))
            self.assertIn(f'"{name}"', json.dumps(schema), path)
            self.assertIn(os.path.basename(path)[:-3] + ".schema.json", text)
            written = " ".join(re.findall(r"`([^`]*)`", text))
            keys = set(re.findall(r"[a-z][a-z0-9_]*", written))
            for key in set(schema.get("properties", {})) - {"schema"}:
                self.assertIn(key, keys, path)

    def test_every_schema_has_a_page(self):
        for path in glob.glob(f"{FORMATS}/*.json"):
            self.assertTrue(os.path.exists(path.replace(".schema.json", ".md")), path)


if __name__ == "__main__":
    os.chdir(programs.TOP)
    subprocess.run(["make", "--silent", "manual", f"BUILD={programs.BUILD}"], check=True)
    sys.exit(unittest.main())
