# SPDX-License-Identifier: GPL-2.0-or-later
"""Flows that stand are accepted when the window has ended, and no longer when that is compared."""
LAYER = "policy"
WHEN = "to the expiry"
DO = 'open_holes "ct state established accept" scoped_output marked_output'
UNTIL = "worker.trusted.established_after_expiry"
CLOSE = "close_holes"
BAD = {"worker.trusted.established_after_expiry": "connected"}
