# SPDX-License-Identifier: GPL-2.0-or-later
"""The outside world dies when the worker is to stop."""
LAYER = "network"
WHEN = "executor.interfaces"
WORLD = "ip link set lan0 down"
BAD = {"worker.trusted.after_stop": "undecided",
       "worker.trusted.established_after_expiry": "probe_error",
       "worker.trusted.after_failed_start": "undecided"}
