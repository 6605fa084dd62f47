#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two figures, as one JSON object: the processor time of judging 1000 records of one
endpoint in one process, and the time of judging one record as a whole process against
that of a program that does nothing, run in turn."""
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
import evidence  # noqa: E402
import real  # noqa: E402

EMPTY = "build/tests/verify_empty"
RECORDS, ROUNDS, PAIRS = 1000, 5, 300


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def elapsed(command):
    begun = time.perf_counter()
    # posix_spawn: what starting costs Python is not to be measured.
    pid = os.posix_spawn(command[0], command, os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    status = os.waitpid(pid, 0)[1]
    if status:
        raise SystemExit(f"{command[0]}: status {status}")
    return time.perf_counter() - begun


def different_records(folder, files):
    """Records that differ in the digest of their configuration, which binds nothing."""
    old = json.loads(files["record"])["inputs"]["config_sha256"].encode()
    return [evidence.put(os.path.join(folder, "store"), files["record"].replace(
        old, hashlib.sha256(b"%d" % i).hexdigest().encode())) for i in range(RECORDS)]


def main():
    with evidence.Folder() as folder:
        files = real.read("rootless-netns")
        names = real.write(folder, files)
        command = [evidence.VERIFY, "record", *evidence.arguments(folder, names["post"]),
                   "--format", "json"]
        records = different_records(folder, files)
        seconds = min(processor_seconds(command + records) for _ in range(ROUNDS))
        pairs = [(elapsed(command + [names["record"]]), elapsed([EMPTY]))
                 for _ in range(PAIRS)]
    whole, empty = (statistics.median(column) for column in zip(*pairs))
    print(json.dumps({
        "bench": "verify", "records": RECORDS,
        "processor_seconds": round(seconds, 4), "processor_seconds_at_most": 0.5,
        "process_ms": round(whole * 1000, 3), "empty_process_ms": round(empty * 1000, 3),
        "process_ratio": round(statistics.median(a / b for a, b in pairs), 2),
        "process_ratio_at_most": 3}))


if __name__ == "__main__":
    main()
