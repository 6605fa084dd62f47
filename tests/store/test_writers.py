#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many writers of one store at once: an object is stored once, and whole."""
import subprocess
import unittest

import storekit

WRITERS = 64


class Writers(unittest.TestCase):
    def setUp(self):
        self.folder = storekit.Folder()
        self.addCleanup(self.folder.close)

    def start(self, data):
        """A writer that has read all but the end of its input."""
        writer = subprocess.Popen([storekit.PUT, self.folder.store], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        writer.stdin.write(data)
        writer.stdin.flush()
        return writer

    def finish(self, writers):
        """Lets all of them go at once; their outputs."""
        for writer in writers:
            writer.stdin.close()
            writer.stdin = None
        outputs = [writer.communicate(timeout=storekit.HANG_SECONDS) for writer in writers]
        self.assertEqual([error for _, error in outputs if error], [])
        return [output.split()[0] for output, _ in outputs]

    def test_64_writers_of_one_record(self):
        data = b'{"one":"record"}' + b" " * 30000
        words = self.finish([self.start(data) for _ in range(WRITERS)])
        self.assertEqual(words.count(b"stored"), 1)
        self.assertEqual(words.count(b"exists"), WRITERS - 1)
        self.assertEqual(storekit.contents(self.folder.store),
                         {storekit.name_of(data): data})

    def test_64_writers_of_64_records(self):
        records = [b'{"record":%d}' % i for i in range(WRITERS)]
        words = self.finish([self.start(data) for data in records])
        self.assertEqual(words, [b"stored"] * WRITERS)
        self.assertEqual(storekit.contents(self.folder.store),
                         {storekit.name_of(data): data for data in records})


if __name__ == "__main__":
    storekit.own_mounts()
    unittest.main()
