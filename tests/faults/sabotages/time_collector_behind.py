# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector lives most of a minute behind the rest of the host."""
LAYER = "time"
HOST = {"build": "build/clock"}
WRAP = ["/usr/bin/env", "NETPROOF_TEST_CLOCK=/run/clock"]
FIRST = "echo -50000 0 >/run/clock"
REFUSED = "is from the future"
