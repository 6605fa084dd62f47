#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What cannot be written whole is no success: the statement of --export in-toto, and every
format, on full, closed, broken and forbidden outputs, and with a fault in each system call.

Nothing is ever written to anything but standard output, so where that leads is as it
was; and what a fault leaves there is no statement that could be taken for a whole one:
each is a line, and only the last can be cut."""
import os
import re
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402

# Without its filter, which no faked call survives.
UNCONFINED = os.environ.get("VERIFY_UNCONFINED", "build/tests/verify_unconfined")
STATEMENT = ("--export", "in-toto")
WAYS = (STATEMENT, *(("--format", name)
                     for name in ("human", "json", "tap", "junit", "sarif", "html")))
ERRORS = ("EIO", "ENOSPC", "EINTR", "EACCES", "ENOMEM", "EMFILE")
LOST = "net-verify: could not tell: standard output could not be written"


class OutputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(evidence.Folder())
        cls.names = real.write(cls.folder, real.read("rootless-netns"))
        cls.aside = os.path.join(cls.folder, "aside")
        os.mkdir(cls.aside)
        cls.whole = {way: cls.run_to(subprocess.PIPE, way).stdout for way in WAYS}

    @classmethod
    def command(cls, way, count=1, program=evidence.VERIFY):
        return [program, "record", *evidence.arguments(cls.folder, cls.names["post"]), *way,
                *[cls.names["record"]] * count]

    @classmethod
    def run_to(cls, output, way, count=1, **options):
        return subprocess.run(cls.command(way, count), stdout=output, stderr=subprocess.PIPE,
                              check=False, **options)

    def fail_to(self, output, way, reason, **options):
        done = self.run_to(output, way, **options)
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (4, f"{LOST}: {reason}\n"), way)

    def path(self, name, content=None):
        path = os.path.join(self.aside, name)
        self.addCleanup(os.unlink, path)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def test_a_full_disk(self):
        for way in WAYS:
            with open("/dev/full", "wb") as full:
                self.fail_to(full, way, "No space left on device")

    def test_a_closed_output(self):
        for way in WAYS:
            self.fail_to(None, way, "Bad file descriptor", preexec_fn=lambda: os.close(1))

    def test_what_was_opened_to_be_read(self):
        """A file that exists, and a folder: no shell opens these for writing."""
        path = self.path("existing", b"as it was\n")
        for way in WAYS:
            for name in (path, self.aside):
                fd = os.open(name, os.O_RDONLY)
                try:
                    self.fail_to(fd, way, "Bad file descriptor")
                finally:
                    os.close(fd)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"as it was\n")
        self.assertEqual(os.listdir(self.aside), ["existing"])

    def test_a_reader_that_left(self):
        path = self.path("fifo")
        os.mkfifo(path)
        for way in WAYS:
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with open(path, "wb") as fifo:
                os.close(reader)
                self.fail_to(fifo, way, "Broken pipe")

    def is_cut(self, found, way):
        """Whether `found` is less than the output, and no statement but whole ones."""
        self.assertTrue(self.whole[way].startswith(found[:len(self.whole[way])]), way)
        if way == STATEMENT:
            *lines, rest = found.split(b"\n")
            self.assertEqual(set(lines) - {self.whole[way].rstrip(b"\n")}, set())
            self.assertTrue(self.whole[way].startswith(rest))
        return len(found) < len(self.whole[way])

    def test_a_file_that_may_not_grow(self):
        """Part of it is written, as when a disk fills."""
        for way in WAYS:
            for size in (0, 1, len(self.whole[way]) // 2, len(self.whole[way]) - 1):
                path = os.path.join(self.aside, "grown")
                with open(path, "wb") as file:
                    done = self.run_to(file, way, preexec_fn=lambda: resource.setrlimit(
                        resource.RLIMIT_FSIZE, (size, size)), restore_signals=False)
                with open(path, "rb") as file:
                    found = file.read()
                os.unlink(path)
                self.assertEqual(done.returncode, 4, (way, size))
                self.assertRegex(done.stderr.decode(), f"^{LOST}[^\n]*\n$")
                self.assertTrue(self.is_cut(found, way), (way, size))

    def test_several_statements_and_room_for_one(self):
        whole = self.whole[STATEMENT]
        path = self.path("statements")
        with open(path, "wb") as file:
            done = self.run_to(file, STATEMENT, 3, restore_signals=False, preexec_fn=lambda:
                               resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 9,) * 2))
        with open(path, "rb") as file:
            found = file.read()
        self.assertEqual(done.returncode, 4)
        self.assertEqual(found, whole + whole[:9])

    def test_another_status_stays_and_the_loss_is_said(self):
        """The record that was refused is refused, whoever could read why."""
        wrong = evidence.put(os.path.join(self.folder, "store"), real.read("host")["record"])
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*self.command(("--format", "json")), wrong], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (1, f"{LOST}: No space left on device\n"))

    def test_a_fault_in_each_call(self):
        """Whatever fails while a statement is made: success says all of it was written."""
        command = self.command(STATEMENT, program=UNCONFINED)
        trace = self.path("trace")
        subprocess.run(["strace", "-o", trace, *command], stdout=subprocess.DEVNULL, check=True)
        calls, counts, is_main = [], {}, False
        with open(trace, encoding="utf-8") as lines:
            for name in re.findall(r"(?m)^(\w+)\(", lines.read()):
                counts[name] = counts.get(name, 0) + 1
                # From the first that is ours on: the descriptors are looked at. brk()
                # knows no errors: what it returns is taken for an address.
                is_main |= name == "fcntl"
                if is_main and name not in ("brk", "exit_group"):
                    calls.append((name, counts[name]))
        self.assertIn("write", counts)
        failed = 0
        for name, number in calls:
            for error in ERRORS:
                done = subprocess.run(
                    ["strace", "-o", "/dev/null", "-e",
                     f"inject={name}:error={error}:when={number}", *command],
                    capture_output=True, check=False)
                what = (name, number, error, done.stderr)
                self.assertIn(done.returncode, (0, 1, 4), what)
                self.assertEqual(done.returncode == 0,
                                 not self.is_cut(done.stdout, STATEMENT), what)
                if done.returncode:
                    failed += 1
                    self.assertRegex(done.stderr, rb"\Anet-verify: [^\n]+\n\Z", what)
        print(f"{len(calls) * len(ERRORS)} faults, {failed} of them seen", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
