# SPDX-License-Identifier: GPL-2.0-or-later
"""The outside world dies between preparation and probes."""
LAYER = "network"
WINDOW = 75
WHEN = "executor agent measured"
WORLD = "ip link set lan0 down"
BAD = {"worker.trusted.handshake": "handshake_failed",
       "worker.trusted.after_stop": "undecided",
       "worker.trusted.established_after_expiry": "probe_error",
       "worker.trusted.after_failed_start": "undecided"}
