# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs say of themselves with --help, read for the tests of documentation."""
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
BIN = os.path.join(BUILD, "bin")
NAMES = ("net-agent", "net-collector", "net-once", "net-policy", "net-preflight", "net-probe",
         "net-proxy", "net-site", "net-verify")
OPTION = re.compile(r"^  (--[a-z-]+)(?: (\S+))?", re.M)
COMMAND = re.compile(r"^  ([a-z][a-z-]*)(?:  |$)", re.M)


def run(name, *words):
    return subprocess.run([os.path.join(BIN, name), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


def say(name, *words):
    done = run(name, *words, "--help")
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def entries(*place):
    """The help without its title and usage."""
    return say(*place).partition("\nusage: ")[2].partition("\n\n")[2]


def commands(name):
    """Its commands, or none."""
    return COMMAND.findall(entries(name)) if "COMMAND --help" in say(name) else []


def options(name, *words):
    """{option: the word for its argument, or ""}"""
    return dict(OPTION.findall(entries(name, *words)))


def places():
    """Every place that has options: (program,) or (program, command)."""
    for name in NAMES:
        yield (name,)
        for command in commands(name):
            yield (name, command)
