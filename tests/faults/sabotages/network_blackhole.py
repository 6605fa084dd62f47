# SPDX-License-Identifier: GPL-2.0-or-later
"""A route of the host's swallows the public target: nobody can tell whether the policy denies."""
LAYER = "network"
WINDOW = 75
WHEN = "preflight"
DO = "ip route add blackhole 1.1.1.1"
BAD = {"candidate.public": "undecided", "worker.public": "probe_error",
       "daemon.public": "probe_error", "daemon.subordinate": "probe_error",
       "daemon.public.after_stop": "probe_error", "daemon.public.after_expiry": "probe_error"}
