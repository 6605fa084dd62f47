#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much a put on ext4 costs beside its own two syncs, which no put can do without. The
image lies on the build's own disk: in memory a sync would cost nothing. Each put has its
ratio, and the median counts, for other work on the machine interrupts single ones. The
bare put beside each (written, synced, linked, nothing checked) shows the floor."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import storekit

PAIRS = 200
SIZES = {"": 26000, "_large": 120000}  # a record with 1 trusted endpoint, and with 32


def measure(store, size):
    lines = subprocess.run(["build/tests/store_bench", store, str(PAIRS), str(size)],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = [[float(word) for word in line.split()] for line in lines]
    put, syncs, bare, bare_syncs = zip(*rows)
    ratios = statistics.quantiles((a / b for a, b in zip(put, syncs)), n=20)
    return {"us": round(statistics.median(put), 1),
            "to_own_syncs": round(ratios[9], 3),  # at most 1.3
            "to_own_syncs_5_to_95": [round(ratios[0], 3), round(ratios[18], 3)],
            "beside_syncs_us": round(statistics.median(a - b for a, b in zip(put, syncs)), 1),
            "bare_to_own_syncs": round(statistics.median(
                a / b for a, b in zip(bare, bare_syncs)), 3),
            "bare_beside_syncs_us": round(statistics.median(
                a - b for a, b in zip(bare, bare_syncs)), 1)}


def main():
    storekit.own_mounts()
    figures = {}
    with tempfile.TemporaryDirectory(prefix="netproof-bench-", dir="build") as work, \
            tempfile.TemporaryDirectory(prefix="netproof-bench-", dir="/run") as root:
        image = work + "/image"
        with open(image, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 160 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, root], check=True)
        try:
            os.chmod(root, 0o700)
            for suffix, size in SIZES.items():
                store = f"{root}/store{suffix}"
                os.mkdir(store, 0o700)
                for key, value in measure(store, size).items():
                    figures[f"store_put{suffix}_{key}"] = value
        finally:
            subprocess.run(["umount", root], check=True)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
