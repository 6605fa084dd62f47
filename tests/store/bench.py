#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much a put on ext4 costs beside its own two syncs, which no put can do without. Each
put has its ratio, and the median counts, for other work on the machine interrupts single
ones. The bare put beside each (written, synced, linked, nothing checked) shows the floor.

The file system lies in an image on the build's own disk; in memory a sync would cost
nothing. It is to cost what it does on that disk, and no more: the image was written whole
before and is accessed around the page cache, or each sync would wait for the journal of
the file system below, too; its blocks have the usual size, not that of a small disk; and
puts go before that are not counted, until its journal has come round once: the first writes
to a part of a disk image can take several times as long. All of these let a put look
cheaper than it is, but the small blocks, which let it look dearer."""
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

import storekit

PAIRS = 200
IMAGE_MEGABYTES = 200
MKFS = ["mkfs.ext4", "-q", "-b", "4096", "-J", "size=4", "-E", "lazy_itable_init=0,nodiscard"]
SIZES = {"": 26000, "_large": 120000}  # a record with 1 trusted endpoint, and with 32


def measure(store, size):
    lines = subprocess.run(["build/tests/store_bench", store, str(PAIRS), str(size)],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = [[float(word) for word in line.split()] for line in lines]
    put, syncs, bare, bare_syncs = zip(*rows)
    ratios = statistics.quantiles((a / b for a, b in zip(put, syncs)), n=20)
    return {"us": round(statistics.median(put), 1),
            "own_syncs_us": round(statistics.median(syncs), 1),
            "to_own_syncs": round(ratios[9], 3),  # at most 1.3
            "to_own_syncs_5_to_95": [round(ratios[0], 3), round(ratios[18], 3)],
            "beside_syncs_us": round(statistics.median(a - b for a, b in zip(put, syncs)), 1),
            "bare_to_own_syncs": round(statistics.median(
                a / b for a, b in zip(bare, bare_syncs)), 3),
            "bare_beside_syncs_us": round(statistics.median(
                a - b for a, b in zip(bare, bare_syncs)), 1)}


@contextlib.contextmanager
def ext4(work, root):
    image = work + "/image"
    with open(image, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, IMAGE_MEGABYTES << 20)
    device = subprocess.run(["losetup", "--show", "--find", "--direct-io=on", image],
                            check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        with open(device, "wb") as file:
            for _ in range(IMAGE_MEGABYTES):
                file.write(b"\x55" * (1 << 20))
            os.fsync(file.fileno())
        subprocess.run([*MKFS, device], check=True)
        subprocess.run(["mount", device, root], check=True)
    finally:
        # It is in use for as long as it is mounted.
        subprocess.run(["losetup", "--detach", device], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", root], check=True)


def main():
    storekit.own_mounts()
    figures = {}
    with tempfile.TemporaryDirectory(prefix="netproof-bench-", dir="build") as work, \
            tempfile.TemporaryDirectory(prefix="netproof-bench-", dir="/run") as root, \
            ext4(work, root):
        os.chmod(root, 0o700)
        os.mkdir(root + "/before", 0o700)
        measure(root + "/before", SIZES[""])
        for suffix, size in SIZES.items():
            store = f"{root}/store{suffix}"
            os.mkdir(store, 0o700)
            for key, value in measure(store, size).items():
                figures[f"store_put{suffix}_{key}"] = value
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
