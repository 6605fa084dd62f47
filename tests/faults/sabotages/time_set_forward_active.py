# SPDX-License-Identifier: GPL-2.0-or-later
"""While the probes run, the wall clock is set 40 seconds forward."""
LAYER = "time"
HOST = {"build": "build/clock"}
WRAP = ["/usr/bin/env", "NETPROOF_TEST_CLOCK=/run/clock"]
FIRST = "echo 0 0 >/run/clock"
WHEN = "executor agent measured"
DO = "echo 40000 0 >/run/clock"
REFUSED = "wall clock: was set by"
