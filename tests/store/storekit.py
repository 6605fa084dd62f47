# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the store share: folders, puts, what a folder must hold."""
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

PUT = os.path.abspath("build/tests/store_put")
VERIFY = os.path.abspath(os.environ.get("NET_VERIFY", "build/bin/net-verify"))
# Nothing here should block. This keeps a hang from holding everything up, no more.
HANG_SECONDS = 60


def own_mounts():
    """Runs this program again in a mount namespace of its own: whatever it mounts goes
    with its last process, however it ends."""
    if os.environ.get("STORE_TEST_MOUNTS") == "own":
        return
    os.environ["STORE_TEST_MOUNTS"] = "own"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--",
                          sys.executable, *sys.argv])


class Folder:
    """A protected folder on a file system of its own, in memory."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="netproof-store-", dir="/run")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700,size=16m", "store", self.path],
                       check=True)
        self.store = self.path + "/store"
        os.mkdir(self.store, 0o700)

    def close(self):
        subprocess.run(["umount", self.path], check=True)
        os.rmdir(self.path)

    def empty(self):
        shutil.rmtree(self.store)
        os.mkdir(self.store, 0o700)


def name_of(data):
    return hashlib.sha256(data).hexdigest()


def run(command, data=b"", **options):
    return subprocess.run(command, input=data, capture_output=True, check=False,
                          timeout=HANG_SECONDS, **options)


def put(folder, data, program=PUT):
    return run([program, folder], data)


def acknowledged(result, data):
    """Whether a put said, in whole, that `data` is kept."""
    if not result.stdout:
        return False
    word, name = result.stdout.decode().split()
    assert word in ("stored", "exists") and name == name_of(data), result.stdout
    return True


class Torn(AssertionError):
    """An object whose bytes are not the ones its name says."""


def contents(folder):
    """Name to bytes; an entry that is not a whole object is an error."""
    found = {}
    for name in os.listdir(folder):
        status = os.lstat(f"{folder}/{name}")
        assert stat.S_ISREG(status.st_mode), f"{name}: not a regular file"
        assert stat.S_IMODE(status.st_mode) == 0o400, f"{name}: mode {status.st_mode:o}"
        assert status.st_nlink == 1, f"{name}: {status.st_nlink} links"
        with open(f"{folder}/{name}", "rb") as file:
            found[name] = file.read()
        if name_of(found[name]) != name:
            raise Torn(f"{name}: torn: {len(found[name])} bytes")
    return found


CALL = re.compile(r"^(\w+)\(")


def calls_of_put(folder, data, trace):
    """The system calls of one put, each as its name and which of that name it is in
    the process, counted from 1: what `strace --inject` wants. The last is the mark
    behind the put."""
    result = run(["strace", "-o", trace, PUT, folder], data)
    assert result.returncode == 0, result.stderr
    counts, calls, is_inside = {}, [], False
    with open(trace, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = CALL.match(line)
            if not match:
                continue
            name = match.group(1)
            counts[name] = counts.get(name, 0) + 1
            if is_inside:
                calls.append((name, counts[name]))
            if name == "getppid":
                is_inside = True
            elif name == "getpgrp":
                return calls
    raise AssertionError("the put made no second mark")


def put_with(inject, folder, data, program=PUT):
    return run(["strace", "-o", "/dev/null", "-e", f"inject={inject}", program, folder],
               data)
