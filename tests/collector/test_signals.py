#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each signal in each phase; after SIGKILL, `recover` takes back what was made."""
import json
import signal
import unittest

from moments import Row, Rows, check_side_by_side

# In the middle of each phase: everything that the phase makes is there.
MOMENTS = {
    "failed_start": "failed_start: net-once measured",
    "expiry": "expiry: worker agent measured",
    "stop_rollback": "stop_rollback: net-once measured",
    "active": "active: executor agent measured",
}
# As shells have it, and `lab exec`.
KILLED = 128 + signal.SIGKILL


def sent(number):
    return lambda run: run.signal(number)


def check_recovery(run):
    """A collection refuses until `recover` has run, and that tells whether it did something."""
    host = run.host
    again = host.collect()
    if again.returncode != 1 or "net-collector recover" not in again.stderr:
        raise AssertionError(f"not refused: {again.returncode} {again.stderr}")
    if not host.leftovers():
        raise AssertionError("SIGKILL left nothing: then there is nothing to show")
    for is_recovered in (True, False):
        done = host.run(host.program("net-collector"), "recover", check=False)
        if done.returncode or json.loads(done.stdout)["recovered"] is not is_recovered:
            raise AssertionError(f"recover: {done.returncode} {done.stdout} {done.stderr}")
    if run.records():
        raise AssertionError("a record was written")


def rows(number, *words, **more):
    name = signal.Signals(number).name
    return [Row(f"{name} in {phase}", {at: sent(number)}, *words,
                window=25 if phase == "failed_start" else 60, **more)
            for phase, at in MOMENTS.items()]


class Signals(unittest.TestCase):
    def test_each_signal_in_each_phase(self):
        batches = [Rows(f"sig-{name.lower()}", rows(
            getattr(signal, name), f"interrupted by {name}", status=4))
            for name in ("SIGTERM", "SIGINT", "SIGHUP")]
        batches.append(Rows("sig-kill", rows(signal.SIGKILL, status=KILLED, also=check_recovery)))
        check_side_by_side(self, batches)


if __name__ == "__main__":
    unittest.main()
