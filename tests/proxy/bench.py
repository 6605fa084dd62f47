#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""net-proxy's answers a second: alone, and with its table full of idle connections.

Each request is a connection of its own, one after another. Both figures come from
one run, in turns, and so does their ratio.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_proxy as tests  # noqa: E402

ROUNDS = 5
REQUESTS = 400


def rate():
    began = time.monotonic()
    for _ in range(REQUESTS):
        assert tests.ask(b"GET / HTTP/1.1\r\n\r\n") == tests.ANSWER
    return REQUESTS / (time.monotonic() - began)


def main():
    alone, crowded = [], []
    proxy = tests.start(*map(str, tests.ADDRESS))
    try:
        tests.wait_until(lambda: tests.listening(tests.ADDRESS), proxy)
        for _ in range(ROUNDS):
            alone.append(rate())
            idle = [tests.connect() for _ in range(tests.CONNECTIONS)]
            crowded.append(rate())
            for connection in idle:
                connection.close()
    finally:
        proxy.kill()
        proxy.wait()
    alone, crowded = (sorted(l)[ROUNDS // 2] for l in (alone, crowded))
    print(json.dumps({"bench": "proxy", "answers_per_second": round(alone),
                      "answers_per_second_with_full_table": round(crowded),
                      "ratio_full_to_alone": round(crowded / alone, 3)}))


if __name__ == "__main__":
    tests.inside(main)
