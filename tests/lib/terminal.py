# SPDX-License-Identifier: GPL-2.0-or-later
"""A program's output as a terminal gets it, and as anything else does."""
import os
import re
import subprocess

SEQUENCE = re.compile(rb"\x1b\[[0-9;]*m")


def on_terminal(command, **variables):
    """Runs the command with a pseudo terminal as all three standard descriptors; its exit
    status and what the terminal was given, line ends as the program wrote them."""
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    environment.update(variables)
    master, slave = os.openpty()
    try:
        with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                              env=environment, start_new_session=True) as child:
            os.close(slave)
            slave = -1
            given = b""
            while True:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # EIO: nobody has the other side any more
                    break
                if not piece:
                    break
                given += piece
            return child.wait(), given.replace(b"\r\n", b"\n")
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)


def plain(text):
    """Without the sequences that colour it; anything else that begins one stays."""
    return SEQUENCE.sub(b"", text)


def given_by(run):
    """What a terminal gets while `run` is called with its descriptor: a screenful at most,
    because nobody reads before the end."""
    master, slave = os.openpty()
    try:
        run(slave)
        os.set_blocking(master, False)
        return os.read(master, 65536).replace(b"\r\n", b"\n")
    finally:
        os.close(master)
        os.close(slave)
