# SPDX-License-Identifier: GPL-2.0-or-later
"""While the failed start runs, the wall clock is set an hour back."""
LAYER = "time"
HOST = {"build": "build/clock"}
WRAP = ["/usr/bin/env", "NETPROOF_TEST_CLOCK=/run/clock"]
FIRST = "echo 0 0 >/run/clock"
WHEN = "failed_start"
DO = "echo -3600000 0 >/run/clock"
REFUSED = "wall clock: was set by -"
