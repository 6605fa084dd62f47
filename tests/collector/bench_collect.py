#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a collection costs: one JSON object. With a 20 s window and 1 and 32 endpoints, one
after the other: how long after the expiry and its grace it ends, the collector's own
processor time, its peak memory."""
import json

import collectlib
from collectlib import ETC

WINDOW = 20
GRACE = 3
# Runs the collector and looks at it every 50 ms: its own time, without its children's.
WATCH = """
import json, os, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
cpu = peak = 0
while child.poll() is None:
    try:
        with open(f"/proc/{child.pid}/stat") as f:
            words = f.read().rsplit(")", 1)[1].split()
        cpu = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        with open(f"/proc/{child.pid}/status") as f:
            lines = [l.split()[1] for l in f if l.startswith("VmHWM")]
        peak = int(lines[0]) if lines else peak
    except (OSError, IndexError):
        pass
    time.sleep(0.05)
print(json.dumps({"status": child.returncode, "ended": time.time(), "cpu": cpu,
                  "peak_kib": peak}))
"""


def measure(endpoints):
    with collectlib.Host(f"bench-{endpoints}", "rootless-netns", endpoints) as host:
        host.prepare(WINDOW)
        profile = json.loads(host.run("/usr/bin/cat", host.site["profile"]).stdout)
        done = host.run("/usr/bin/python3", "-c", WATCH, host.program("net-collector"),
                        "network", "--config", f"{ETC}/collection.json", "--confirm",
                        collectlib.PHRASE, "--progress", "none")
        seen = json.loads(done.stdout.splitlines()[-1])
        if seen["status"]:
            raise AssertionError(f"exit status {seen['status']}: {done.stderr}")
        after = seen["ended"] - profile["expires_at_unix"] - GRACE
        return {"seconds_after_grace": round(after, 2), "own_cpu_seconds": round(seen["cpu"], 2),
                "peak_mib": round(seen["peak_kib"] / 1024, 1)}


def main():
    outcomes = {endpoints: measure(endpoints) for endpoints in (1, 32)}
    print(json.dumps({
        "name": "collection", "endpoints_1": outcomes[1], "endpoints_32": outcomes[32],
        "more_seconds_32": round(outcomes[32]["seconds_after_grace"]
                                 - outcomes[1]["seconds_after_grace"], 2)}))


if __name__ == "__main__":
    main()
