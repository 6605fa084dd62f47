#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much a put on ext4 costs beside its own two syncs, which no put can do without. The
image lies on the build's own disk: in memory a sync would cost nothing."""
import json
import os
import subprocess
import sys
import tempfile

import storekit

COUNT, ROUNDS = 40, 5
SIZES = {"": 26000, "_large": 120000}  # a record with 1 trusted endpoint, and with 32


def main():
    storekit.own_mounts()
    figures = {}
    with tempfile.TemporaryDirectory(prefix="netproof-bench-", dir="build") as work, \
            tempfile.TemporaryDirectory(prefix="netproof-bench-", dir="/run") as root:
        image = work + "/image"
        with open(image, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 96 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, root], check=True)
        try:
            os.chmod(root, 0o700)
            for suffix, size in SIZES.items():
                runs = []
                for number in range(ROUNDS):
                    store = f"{root}/store{suffix}{number}"
                    os.mkdir(store, 0o700)
                    runs.append(json.loads(subprocess.run(
                        ["build/tests/store_bench", store, str(COUNT), str(size)],
                        check=True, stdout=subprocess.PIPE).stdout))
                ratios = sorted(run["put_us"] / run["put_syncs_us"] for run in runs)
                figures[f"store_put{suffix}_us"] = sorted(r["put_us"] for r in runs)[ROUNDS // 2]
                # At most 1.3.
                figures[f"store_put{suffix}_to_own_syncs"] = round(ratios[ROUNDS // 2], 3)
        finally:
            subprocess.run(["umount", root], check=True)
    print(json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
