#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tools behind `make release`: the same bytes every time, which the decoder takes;
an image whose id is the digest of its configuration; what is missing is named."""
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import samples

REVISION = "0123456789abcdef0123456789abcdef01234567"


class Release(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="netproof-release-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in samples.PROGRAMS:
            with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
                file.write(name)
        for path in ("fixtures/catalog.json", "fixtures/network/targets.json"):
            shutil.copy(path, self.folder)

    def make(self):
        return subprocess.run(
            ["policy/make-release", self.folder, "0.1.0", REVISION,
             "netproof-candidate:0.1.0", samples.IMAGE], capture_output=True, check=False)

    def content(self):
        with open(self.folder + "/release.json", "rb") as file:
            return file.read()

    def test_a_release(self):
        self.assertEqual(self.make().returncode, 0)
        first = self.content()
        self.assertEqual(self.make().returncode, 0)
        self.assertEqual(self.content(), first)
        # The programs hold their own names here: the sample's digests.
        self.assertEqual(first, samples.canonical(samples.release()))
        again = subprocess.run(["build/tests/format_tool", "release"], input=first,
                               capture_output=True, check=True)
        self.assertEqual(again.stdout, first)

    def test_what_is_missing_is_named(self):
        for name in (*samples.PROGRAMS, "catalog.json", "targets.json"):
            path = f"{self.folder}/{name}"
            os.rename(path, path + ".away")
            result = self.make()
            os.rename(path + ".away", path)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr.decode(),
                             f"make-release: {path} is not there: build it first\n")
            self.assertFalse(os.path.exists(self.folder + "/release.json"))

    def test_the_image(self):
        archives, ids = [], []
        for number in range(2):
            path = f"{self.folder}/image{number}.tar"
            made = subprocess.run(["policy/make-image", path], capture_output=True,
                                  check=True, cwd=os.getcwd(),
                                  env={**os.environ, "TZ": f"UTC{number}", "LC_ALL": "C"})
            ids.append(made.stdout.decode().strip())
            with open(path, "rb") as file:
                archives.append(file.read())
        self.assertEqual(archives[0], archives[1])
        with tarfile.open(fileobj=io.BytesIO(archives[0])) as archive:
            manifest = json.load(archive.extractfile("manifest.json"))[0]
            config = archive.extractfile(manifest["Config"]).read()
            layer = archive.extractfile(manifest["Layers"][0]).read()
        self.assertEqual(ids, ["sha256:" + hashlib.sha256(config).hexdigest()] * 2)
        self.assertEqual(json.loads(config)["rootfs"]["diff_ids"],
                         ["sha256:" + hashlib.sha256(layer).hexdigest()])
        with tarfile.open(fileobj=io.BytesIO(layer)) as folders:
            self.assertTrue(all(member.isdir() for member in folders))


if __name__ == "__main__":
    unittest.main()
