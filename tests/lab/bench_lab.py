#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a lab takes to be there and to be gone: the median of some rounds, in seconds."""
import json
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from labtest import Lab, lab  # noqa: E402

ROUNDS = 5


def timed(*arguments):
    started = time.monotonic()
    lab(*arguments)
    return time.monotonic() - started


def main():
    figures = {}
    for _ in range(ROUNDS):
        started = time.monotonic()
        one = Lab("bench", "--endpoints", "32")
        one.__enter__()
        rounds = {"lab_up_s": time.monotonic() - started}
        try:
            rounds["lab_exec_s"] = timed("exec", "--name", one.name, "--", "true")
            rounds["lab_engine_ready_s"] = timed("engine", "--name", one.name)
        finally:
            rounds["lab_down_s"] = timed("down", "--name", one.name)
        for key, value in rounds.items():
            figures.setdefault(key, []).append(value)
    print(json.dumps({key: round(statistics.median(values), 3)
                      for key, values in figures.items()}))


if __name__ == "__main__":
    main()
