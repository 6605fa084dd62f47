# SPDX-License-Identifier: GPL-2.0-or-later
"""A program's lines, one at a time: it cannot say the next before this one was dealt with.

A pipe with room for a single write: the line that is looked at stays in it (tee(2) copies
it out), so that the program's next write waits. What is done at a line is done before the
program has got past the next, however busy the machine is.
"""
import ctypes
import fcntl
import os

F_SETPIPE_SZ = 1031
ONE_PAGE = 4096
libc = ctypes.CDLL(None, use_errno=True)


class Pipe:
    def __init__(self):
        # In packet mode each write has a page of its own, and there is one.
        self.reading, self.writing = os.pipe2(os.O_CLOEXEC | os.O_DIRECT)
        fcntl.fcntl(self.writing, F_SETPIPE_SZ, ONE_PAGE)
        self.copy_out, self.copy_in = os.pipe2(os.O_CLOEXEC)

    def close_writing(self):
        os.close(self.writing)
        self.writing = None

    def close(self):
        for fd in (self.reading, self.writing, self.copy_out, self.copy_in):
            if fd is not None:
                os.close(fd)

    def _look(self):
        """What was written last and is still in the way; empty at the end."""
        size = libc.tee(self.reading, self.copy_in, ONE_PAGE, 0)
        if size < 0:
            raise OSError(ctypes.get_errno(), "tee")
        return os.read(self.copy_out, ONE_PAGE) if size else b""

    def lines(self):
        """Each line, before there is room for the next."""
        pending = b""
        while data := self._look():
            *whole, pending = (pending + data).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace") + "\n"
            os.read(self.reading, ONE_PAGE)
        if pending:
            yield pending.decode(errors="replace")
