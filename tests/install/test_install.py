#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make install puts exactly the files in place that tests/install/files lists, and they
fit together. "--write" writes that list anew, to be read and committed."""
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = os.path.join(TOP, "tests/install/files")
REVISION = "0123456789abcdef0123456789abcdef01234567"


def install(folder, *variables):
    """Below folder/root; the release is made beside it."""
    subprocess.run(["make", "--silent", "install", f"DESTDIR={folder}/root",
                    f"SOURCE_REVISION={REVISION}", f"RELEASE_OUT={folder}/release",
                    *variables], cwd=TOP, check=True, stdout=subprocess.DEVNULL)
    return folder + "/root"


def listing(root):
    """One line each: mode, path, and where a link leads."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            line = f"{stat.filemode(status.st_mode)} {path[len(root):]}"
            if stat.S_ISLNK(status.st_mode):
                line = f"l {path[len(root):]} -> {os.readlink(path)}"
            yield line


def expected():
    with open(FILES, encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if not line.startswith("#")]


def by_path(lines):
    return sorted(lines, key=lambda line: line.split(" ")[1])


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="netproof-install-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # Whoever installs may have any umask.
        before = os.umask(0o077)
        try:
            cls.root = install(cls.folder, "PREFIX=/usr")
        finally:
            os.umask(before)

    def read(self, path):
        with open(self.root + path, "rb") as file:
            return file.read()

    def test_files(self):
        self.assertEqual(by_path(listing(self.root)), expected())

    def test_release_is_of_what_is_installed(self):
        release = json.loads(self.read("/usr/lib/netproof/release.json"))
        for name, digest in release["programs"].items():
            data = self.read(f"/usr/lib/netproof/{name}")
            self.assertEqual(hashlib.sha256(data).hexdigest(), digest, name)
        for key in ("catalog", "targets"):
            data = self.read(f"/usr/lib/netproof/{key}.json")
            self.assertEqual(hashlib.sha256(data).hexdigest(), release[key + "_sha256"])

    def test_commands_run(self):
        for folder in ("/usr/bin/", "/usr/sbin/"):
            for name in os.listdir(self.root + folder):
                done = subprocess.run([self.root + folder + name, "--version"], check=True,
                                      capture_output=True, text=True)
                self.assertEqual(done.stdout.split()[0], name)

    def test_another_prefix(self):
        """Every text names the places as they are, but for the documents."""
        folder = tempfile.mkdtemp(prefix="netproof-install-")
        self.addCleanup(shutil.rmtree, folder)
        root = install(folder, "PREFIX=/opt/np", "sysconfdir=/opt/np/etc")
        with open(root + "/opt/np/etc/netproof/site.json", encoding="utf-8") as file:
            site = json.load(file)
        self.assertEqual(site["install_dir"], "/opt/np/lib/netproof")
        self.assertEqual(site["profile"], "/opt/np/etc/netproof/profile.json")
        self.assertEqual(os.listdir(root), ["opt"])
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                self.assertTrue(os.path.exists(path), path)
                if "/share/doc/" in path or "/lib/netproof" in path or "bin/" in path:
                    continue
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for place in (" /etc/netproof", "/usr/lib/netproof", "/usr/share/doc/netproof"):
                    self.assertNotIn(place, text, path)


def write():
    folder = tempfile.mkdtemp(prefix="netproof-install-")
    try:
        lines = by_path(listing(install(folder, "PREFIX=/usr")))
    finally:
        shutil.rmtree(folder)
    with open(FILES, "w", encoding="utf-8") as out:
        out.write("# What `make install PREFIX=/usr` installs: mode and path, or a link and where\n"
                  "# it leads. Made by tests/install/test_install.py --write.\n")
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
