# SPDX-License-Identifier: GPL-2.0-or-later
"""While the worker stops, the wall clock is set 20 seconds back."""
LAYER = "time"
HOST = {"build": "build/clock"}
WRAP = ["/usr/bin/env", "NETPROOF_TEST_CLOCK=/run/clock"]
FIRST = "echo 0 0 >/run/clock"
WHEN = "stop_rollback"
DO = "echo -20000 0 >/run/clock"
REFUSED = "wall clock: was set by -"
