# SPDX-License-Identifier: GPL-2.0-or-later
"""The outside world dies while the expiry is awaited."""
LAYER = "network"
WHEN = "to the expiry"
WORLD = "ip link set lan0 down"
BAD = {"worker.trusted.after_failed_start": "undecided"}
# Of a dead network's flow the control must not say that it is alive: then the cut is only
# the policy's because its counter rose.
BASIS = {"worker.trusted.established_after_expiry": "deny_counter"}
