#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts: a put is killed before each of its system calls, the image it wrote to is
copied at that instant, and the copy is mounted, on ext4, xfs and btrfs. Nothing that
was acknowledged is lost or torn, and nothing else is torn either.

What is in the copy is what the file system had sent to its device by then. The kernel's
own write-back would send more, so its intervals are long and every cut starts from a
file system that was just mounted. The same test, with one of the two syncs taken out of
the store, must lose or tear what was acknowledged."""
import os
import shutil
import subprocess
import tempfile
import unittest

import storekit

KINDS = {
    # Size, mkfs, and mount options against write-back by time. xfs has no option: its
    # log goes out after 30 s.
    "ext4": ("32M", ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0"], "commit=600"),
    "xfs": ("300M", ["mkfs.xfs", "-q"], "defaults"),
    "btrfs": ("128M", ["mkfs.btrfs", "-q"], "commit=300"),
}


def call(*command):
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr.decode()}")


class Disk:
    """A file system in an image, and the copy that a power cut leaves."""

    def __init__(self, kind):
        size, mkfs, self.options = KINDS[kind]
        self.kind = kind
        self.path = tempfile.mkdtemp(prefix="netproof-cut-", dir="/run")
        call("mount", "-t", "tmpfs", "-o", "mode=0700,size=900m", "cut", self.path)
        self.image, self.copy = self.path + "/image", self.path + "/copy"
        self.root = self.path + "/root"
        os.mkdir(self.root, 0o700)
        call("truncate", "-s", size, self.image)
        call(*mkfs, self.image)
        self.store = self.root + "/store"
        self.mount(self.image)
        os.chmod(self.root, 0o700)
        os.mkdir(self.store, 0o700)
        self.unmount()

    def mount(self, image):
        call("mount", "-t", self.kind, "-o", f"loop,{self.options}", image, self.root)

    def unmount(self):
        call("umount", self.root)

    def cut(self):
        """The power goes: from here on only the copy counts. The original is unmounted
        first, because two file systems of one identity cannot be mounted."""
        call("cp", "--sparse=auto", self.image, self.copy)
        self.unmount()

    def after_cut(self):
        """What the store holds when the power is back."""
        self.mount(self.copy)
        try:
            return storekit.contents(self.store)
        finally:
            self.unmount()
            os.unlink(self.copy)

    def close(self):
        if os.path.ismount(self.root):
            self.unmount()
        call("umount", self.path)
        os.rmdir(self.path)


class Cuts:
    """The tests of one file system."""

    kind = None

    @classmethod
    def setUpClass(cls):
        cls.disk = Disk(cls.kind)
        cls.addClassCleanup(cls.disk.close)
        cls.number = 0

    def fresh(self):
        """Data that was never put: of more than one block and less than three."""
        type(self).number += 1
        return (f'{{"number":{self.number},"text":"'.encode() + b"x" * 9000 + b'"}')

    def mounted(self):
        self.disk.mount(self.disk.image)
        return self.disk.store

    def kept_before(self):
        store = self.mounted()
        kept = storekit.contents(store)
        self.disk.unmount()
        return set(kept)

    def check(self, what, before, sure):
        """`before` was there when the cut cycle began, `sure` was acknowledged in it."""
        found = set(self.disk.after_cut())
        self.assertLessEqual(before | sure, found, f"{what}: lost")
        return found

    def test_a_kill_before_each_call(self):
        store = self.mounted()
        calls = storekit.calls_of_put(store, self.fresh(), self.disk.path + "/trace")
        self.disk.unmount()
        appeared = 0
        for name, number in calls:
            before, data = self.kept_before(), self.fresh()
            store = self.mounted()
            result = storekit.put_with(f"{name}:signal=KILL:when={number}", store, data)
            self.disk.cut()
            what = f"{self.kind}: killed before {name} {number}"
            self.assertLess(result.returncode, 0, what)
            found = self.check(what, before, set())
            appeared += storekit.name_of(data) in found
        # Killed at the last mark, it was durable without having been acknowledged.
        self.assertGreater(appeared, 0)
        print(f"{self.kind}: {len(calls)} cuts; in {appeared} the object was durable by then")

    def test_what_is_acknowledged_stays(self):
        for _ in range(3):
            before, data = self.kept_before(), self.fresh()
            result = storekit.put(self.mounted(), data)
            self.disk.cut()
            self.assertTrue(storekit.acknowledged(result, data), result.stderr)
            self.check(self.kind, before, {storekit.name_of(data)})

    def test_what_another_put_left_is_made_durable(self):
        """The first writer dies with the object linked and nothing synced; the second
        finds it there, and says so only when it is durable."""
        before, data = self.kept_before(), self.fresh()
        store = self.mounted()
        calls = storekit.calls_of_put(store, self.fresh(), self.disk.path + "/trace")
        name, number = calls[calls.index(("linkat", 1)) + 1]
        first = storekit.put_with(f"{name}:signal=KILL:when={number}", store, data)
        self.assertLess(first.returncode, 0)
        second = storekit.put(store, data)
        self.disk.cut()
        self.assertEqual(second.stdout.split()[0], b"exists", second.stderr)
        self.check(self.kind, before, {storekit.name_of(data)})

    def without(self, program):
        """What a cut makes of an object that a put without one of its syncs has
        acknowledged: "kept", "lost" or "torn"."""
        data = self.fresh()
        result = storekit.put(self.mounted(), data, program)
        self.disk.cut()
        self.assertTrue(storekit.acknowledged(result, data), result.stderr)
        try:
            is_kept = storekit.name_of(data) in self.disk.after_cut()
        except storekit.Torn:
            return "torn"
        return "kept" if is_kept else "lost"

    def test_without_the_file_sync_it_fails(self):
        self.assertIn(self.without(storekit.PUT + "_no_file_sync"), ("torn", "lost"))

    def test_without_the_folder_sync_it_fails(self):
        self.assertEqual(self.without(storekit.PUT + "_no_folder_sync"), "lost")


def has_kind(kind):
    with open("/proc/filesystems", encoding="ascii") as file:
        if any(line.split()[-1] == kind for line in file):
            return True
    return subprocess.run(["modprobe", "-q", kind], check=False).returncode == 0


def load_tests(loader, tests, pattern):
    del tests, pattern
    suite = unittest.TestSuite()
    for kind in KINDS:
        case = type(f"Cuts_{kind}", (Cuts, unittest.TestCase), {"kind": kind})
        # In CI nothing is skipped: there, mounting it fails and says so.
        if "CI" not in os.environ and not has_kind(kind):
            case = unittest.skip(f"the kernel has no {kind}")(case)
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    storekit.own_mounts()
    for needed in ("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "strace"):
        assert shutil.which(needed), f"{needed} is not there: tests/deps installs it"
    unittest.main()
