#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command, every option and every listed argument is completed, by a real bash
and a real zsh; and the help, which completion is made of, fits a screen."""
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import programs

COLUMNS, LINES = 80, 24
SECONDS = 120

# Loads a program's completion as bash-completion does, and completes the last word.
BASH = r"""
. /usr/share/bash-completion/bash_completion
_completion_loader "$1"
[ "$(complete -p "$1")" = "complete -F _${1//-/_} $1" ] || exit 9
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_${1//-/_}" && printf '%s\n' "${COMPREPLY[@]}"
"""

# What compadd would add is written to a file instead; a second key says that it is done.
ZSH = r"""
PS1= ; unsetopt zle_bracketed_paste 2>/dev/null; zstyle ':completion:*' completer _complete
fpath=({folder} $fpath); autoload -U compinit; compinit -u -d {work}/dump
compadd() {{
	local -a found
	if [[ -z ${{argv[(r)-[OAD]]}} ]]; then
		builtin compadd -O found "$@"
		(( $#found )) && print -rl -- $found >>{work}/found
	fi
	builtin compadd "$@"
}}
finish() {{ print done >{work}/done; BUFFER= }}
zle -N finish
zle -C listing list-choices _main_complete
bindkey '^X' listing
bindkey '^Y' finish
print ready >{work}/done
"""


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="netproof-bash-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        os.symlink(os.path.join(programs.BUILD, "completion/bash"),
                   os.path.join(cls.work, "completions"))
        with open(os.path.join(cls.work, "a-file"), "w", encoding="utf-8"):
            pass
        os.mkdir(os.path.join(cls.work, "a-folder"))

    def complete(self, *words):
        done = subprocess.run(
            ["bash", "--norc", "-c", BASH, "bash", *words], check=False, timeout=SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.work,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                 "BASH_COMPLETION_USER_DIR": self.work})
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout.split()

    def test_commands_and_options(self):
        for place in programs.places():
            with self.subTest(place):
                self.assertEqual(sorted(self.complete(*place, "--")),
                                 sorted(programs.options(*place)))
        for name in programs.NAMES:
            if programs.commands(name):
                self.assertEqual(self.complete(name, ""),
                                 programs.commands(name) + ["--help", "--version"])

    def test_arguments(self):
        for place in programs.places():
            for option, argument in programs.options(*place).items():
                wanted = {"FILE": ["a-file", "a-folder", "completions"],
                          "DIR": ["a-folder", "completions"]}.get(argument)
                if "|" in argument:
                    wanted = argument.split("|")
                if wanted:
                    with self.subTest((place, option)):
                        self.assertEqual(sorted(self.complete(*place, option, "")),
                                         sorted(wanted))
                        self.assertEqual(sorted(self.complete(*place, option, "=")),
                                         sorted(wanted))
                        self.assertEqual(self.complete(*place, option, "=", wanted[0][:-1]),
                                         [wanted[0]])


class Zsh(unittest.TestCase):
    """One zsh on a terminal of its own."""

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="netproof-zsh-")
        self.addCleanup(shutil.rmtree, self.work)
        os.mkfifo(self.path("done"))
        os.mkdir(self.path("a-folder"))
        os.close(os.open(self.path("a-file"), os.O_CREAT | os.O_WRONLY))
        self.done = os.open(self.path("done"), os.O_RDWR)
        self.addCleanup(os.close, self.done)
        ours, terminal = os.openpty()
        self.terminal = ours
        self.addCleanup(os.close, ours)
        child = subprocess.Popen(
            ["zsh", "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal,
            start_new_session=True, cwd=self.work,
            env={"PATH": "/usr/bin:/bin", "HOME": self.work, "TERM": "xterm",
                 "LC_ALL": "C.UTF-8"})
        os.close(terminal)
        self.addCleanup(child.wait)
        self.addCleanup(os.killpg, child.pid, signal.SIGKILL)
        with open(self.path("setup"), "w", encoding="utf-8") as out:
            out.write(ZSH.format(work=self.work,
                                 folder=os.path.join(programs.BUILD, "completion/zsh")))
        self.seen = b""
        os.write(ours, b". ./setup\n")
        self.wait()

    def path(self, name):
        return os.path.join(self.work, name)

    def wait(self):
        """For the word on the FIFO, while what the terminal shows is read."""
        while True:
            ready = select.select([self.done, self.terminal], [], [], SECONDS)[0]
            if self.done in ready:
                return os.read(self.done, 64)
            self.assertTrue(ready, self.seen[-2000:])
            self.seen += os.read(self.terminal, 65536)

    def complete(self, *words):
        open(self.path("found"), "w", encoding="utf-8").close()
        os.write(self.terminal, " ".join(words).encode() + b"\x18\x19")
        self.wait()
        with open(self.path("found"), encoding="utf-8") as found:
            return list(dict.fromkeys(found.read().splitlines()))

    def test_commands_options_and_arguments(self):
        for place in programs.places():
            found = {word.rstrip("=") for word in self.complete(*place, "--")}
            self.assertEqual(found, set(programs.options(*place)), place)
            for option, argument in programs.options(*place).items():
                if "|" in argument:
                    self.assertEqual(self.complete(*place, option, ""), argument.split("|"))
                elif argument in ("FILE", "DIR"):
                    found = self.complete(*place, option, "a-")
                    self.assertEqual(sorted(found), ["a-file", "a-folder"]
                                     if argument == "FILE" else ["a-folder"], (place, option))
        for name in programs.NAMES:
            wanted = programs.commands(name)
            if wanted:
                found = self.complete(name, "")
                self.assertEqual(sorted(word for word in found if word in wanted),
                                 sorted(wanted))


class Screen(unittest.TestCase):
    def test_help_fits(self):
        for place in programs.places():
            lines = programs.say(*place).splitlines()
            self.assertLessEqual(len(lines), LINES - 1, place)
            self.assertLess(max(map(len, lines)), COLUMNS, place)


if __name__ == "__main__":
    subprocess.run(["make", "--silent", "-C", programs.TOP, "completions",
                    f"BUILD={programs.BUILD}"], check=True)
    sys.exit(unittest.main())
