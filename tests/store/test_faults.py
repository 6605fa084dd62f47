#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fault in every system call of a put: nothing torn, no success without a record."""
import os
import unittest

import storekit

ERRORS = ("EIO", "ENOSPC", "EINTR", "EACCES", "ENOMEM", "EMFILE")
DATA = b'{"schema":"netproof.test.v1","text":"' + b"x" * 40000 + b'"}'
# These the put cannot do without; the rest may be tolerated (a close), repeated (an
# interrupted write) or served otherwise (memory).
ESSENTIAL = ("fsync", "linkat", "openat", "openat2")


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = storekit.Folder()
        cls.addClassCleanup(cls.folder.close)
        cls.trace = cls.folder.path + "/trace"

    def prepare(self, is_there):
        self.folder.empty()
        if is_there:
            self.assertEqual(storekit.put(self.folder.store, DATA).returncode, 0)

    def calls(self, is_there):
        self.prepare(is_there)
        return storekit.calls_of_put(self.folder.store, DATA, self.trace)

    def check(self, what, result, is_there):
        """What must hold however a put ended."""
        name = storekit.name_of(DATA)
        found = storekit.contents(self.folder.store)
        if storekit.acknowledged(result, DATA):
            self.assertEqual(list(found), [name], what)
        self.assertLessEqual(set(found), {name}, what)
        if is_there:
            self.assertEqual(list(found), [name], what)
        again = storekit.put(self.folder.store, DATA)
        self.assertEqual(again.returncode, 0, (what, again.stderr))
        self.assertEqual(list(storekit.contents(self.folder.store)), [name], what)

    def test_errors(self):
        count, refused = 0, 0
        for is_there in (False, True):
            for call, number in self.calls(is_there)[:-1]:
                for error in ERRORS:
                    what = f"{call} {number}: {error}, there: {is_there}"
                    self.prepare(is_there)
                    result = storekit.put_with(f"{call}:error={error}:when={number}",
                                               self.folder.store, DATA)
                    count += 1
                    refused += result.returncode != 0
                    self.assertEqual(result.returncode == 0,
                                     storekit.acknowledged(result, DATA), what)
                    if result.returncode:
                        self.assertIn(result.returncode, (1, 4), what)
                        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
                    if call in ESSENTIAL:
                        self.assertNotEqual(result.returncode, 0, what)
                    self.check(what, result, is_there)
        print(f"{count} faults, {refused} of them refused the put")

    def test_kills(self):
        count = 0
        for is_there in (False, True):
            for call, number in self.calls(is_there):
                what = f"killed before {call} {number}, there: {is_there}"
                self.prepare(is_there)
                result = storekit.put_with(f"{call}:signal=KILL:when={number}",
                                           self.folder.store, DATA)
                count += 1
                self.assertLess(result.returncode, 0, what)
                self.assertFalse(storekit.acknowledged(result, DATA), what)
                self.check(what, result, is_there)
        print(f"{count} kills")

    def test_a_sync_that_fails_is_final(self):
        """It is called once more by nobody: the kernel would say that all is well."""
        syncs = [number for call, number in self.calls(False) if call == "fsync"]
        self.assertEqual(len(syncs), 2)
        for number in syncs:
            self.prepare(False)
            trace = self.trace
            result = storekit.run(
                ["strace", "-o", trace, "-e", "trace=fsync", "-e",
                 f"inject=fsync:error=EIO:when={number}", storekit.PUT,
                 self.folder.store], DATA)
            self.assertEqual(result.returncode, 4)
            with open(trace, encoding="utf-8") as lines:
                self.assertEqual(sum("fsync(" in line for line in lines), number)

    def test_a_write_that_lies_is_found(self):
        """A write that reports success and writes nothing, and a short one."""
        writes = [number for call, number in self.calls(False) if call == "write"]
        for size in (len(DATA), len(DATA) - 1, 1):
            self.prepare(False)
            result = storekit.put_with(f"write:retval={size}:when={writes[0]}",
                                       self.folder.store, DATA)
            self.assertEqual(result.returncode, 4)
            self.assertIn(b"does not read back as written", result.stderr)
            self.assertEqual(storekit.contents(self.folder.store), {})

    def test_a_link_that_lies_is_found(self):
        """A link that reports success and makes nothing, with and without another file
        of that name."""
        for is_there, reason in ((False, b"no such object in the store"),
                                 (True, b"was replaced while it was stored")):
            self.prepare(is_there)
            before = storekit.contents(self.folder.store)
            result = storekit.put_with("linkat:retval=0:when=1", self.folder.store, DATA)
            self.assertIn(result.returncode, (1, 4))
            self.assertIn(reason, result.stderr)
            self.assertEqual(storekit.contents(self.folder.store), before)

    def test_no_unnamed_files_is_said(self):
        opens = [number for call, number in self.calls(False) if call == "openat"]
        self.prepare(False)
        result = storekit.put_with(f"openat:error=EOPNOTSUPP:when={opens[-1]}",
                                   self.folder.store, DATA)
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"no unnamed file (O_TMPFILE) can be made in the store: "
                      b"Operation not supported", result.stderr)

    def test_a_full_store(self):
        """A real full file system, not an injected one."""
        filler = self.folder.path + "/filler"
        self.prepare(False)
        self.addCleanup(os.unlink, filler)
        file = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
        self.addCleanup(os.close, file)
        with self.assertRaises(OSError):
            while True:
                os.write(file, bytes(65536))
        result = storekit.put(self.folder.store, DATA)
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"No space left on device", result.stderr)
        self.assertEqual(storekit.contents(self.folder.store), {})

    def test_a_store_that_cannot_be_written(self):
        self.prepare(False)
        storekit.subprocess.run(["mount", "-o", "remount,ro", self.folder.path], check=True)
        try:
            result = storekit.put(self.folder.store, DATA)
        finally:
            storekit.subprocess.run(["mount", "-o", "remount,rw", self.folder.path],
                                    check=True)
        self.assertEqual(result.returncode, 4)
        self.assertIn(b"Read-only file system", result.stderr)


if __name__ == "__main__":
    storekit.own_mounts()
    unittest.main()
