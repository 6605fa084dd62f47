#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""README's way from a checkout to a verified record, run to the letter on a fresh host, and
what it says the commands print.

In a ```console block, a line that begins with "$ " or "# " is a command, the lines below
it are what it prints, on standard error only if nothing is on standard output: "…" is any
text, also of several lines, and <NAME> a digest, the same wherever the name stands.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/lab"))

from labtest import LAB, Lab  # noqa: E402

REVISION = "0123456789abcdef0123456789abcdef01234567"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
PLACE = re.compile(r"<([a-z]+)>")


def steps():
    """[(prompt, command, what it prints)]"""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    found = []
    for line in "".join(blocks).splitlines():
        if line[:2] in ("$ ", "# "):
            found.append((line[0], line[2:], []))
        else:
            found[-1][2].append(line)
    return [(prompt, command, "\n".join(lines)) for prompt, command, lines in found]


def pattern(text, known):
    """What is printed, as a regular expression; places that are known are filled in."""
    parts = []
    for part in re.split(r"(…|<[a-z]+>)", text):
        place = PLACE.fullmatch(part)
        if part == "…":
            parts.append(r"(?s:.*)")
        elif place:
            parts.append(known.get(place[1], f"(?P<{place[1]}>[0-9a-f]{{64}})"))
        else:
            parts.append(re.escape(part))
    return "".join(parts)


class Readme(unittest.TestCase):
    maxDiff = None

    def test_the_way_on_a_host(self):
        os.makedirs(os.path.join(TOP, "build"), exist_ok=True)
        # Below the checkout, which a lab sees.
        with tempfile.TemporaryDirectory(prefix="readme-", dir=os.path.join(TOP, "build")) as folder, \
                Lab("readme") as host:
            # An overlay cannot hold the engine's own overlays.
            host.run("/bin/sh", "-ec", "mkdir -m 700 /var/lib/netproof && "
                     "mount -t tmpfs -o mode=700 engine /var/lib/netproof")
            known = {}
            for prompt, command, text in steps():
                with self.subTest(command):
                    self.follow(host, folder, known, prompt, command, text)

    def follow(self, host, folder, known, prompt, command, text):
        command = PLACE.sub(lambda place: known[place[1]], command)
        if prompt == "$":
            done = subprocess.run(
                ["/bin/sh", "-c", f"{command} DEB_OUT={folder}/out/deb BUILD={folder}/build "
                 f"SOURCE_REVISION={REVISION}"], cwd=TOP, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        else:
            done = subprocess.run(
                [LAB, "exec", "--name", host.name, "--", "/bin/sh", "-c",
                 f"cd {folder}; {command}"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        shown = (done.stdout or done.stderr).strip()
        # doctor says with its status whether something stands in the way.
        wanted = 3 if "doctor" in command and "nothing stands" not in text else 0
        self.assertEqual(done.returncode, wanted, f"{done.stdout}{done.stderr}")
        if not text:
            return
        found = re.fullmatch(pattern(text, known), shown)
        self.assertTrue(found, f"README says\n{text}\nand it printed\n{shown}")
        known.update(found.groupdict())


if __name__ == "__main__":
    unittest.main(failfast=True)
