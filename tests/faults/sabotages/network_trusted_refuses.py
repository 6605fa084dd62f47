# SPDX-License-Identifier: GPL-2.0-or-later
"""The trusted endpoint refuses everybody: the worker's handshakes fail."""
LAYER = "network"
WINDOW = 75
WHEN = "preflight"
BAD = {"worker.trusted.handshake": "handshake_failed",
       "worker.trusted.after_stop": "undecided",
       "worker.trusted.established_after_expiry": "probe_error",
       "worker.trusted.after_failed_start": "undecided"}


def act(host):
    host.lab.service("stop", "trusted-1")
