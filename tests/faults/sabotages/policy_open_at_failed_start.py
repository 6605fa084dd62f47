# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard has a hole while the worker that failed tries, and none whenever it is compared."""
LAYER = "policy"
WHEN = "failed_start: controls before net-once"
DO = 'open_holes "meta skuid $SUBJECT ip daddr 198.51.100.1 accept" output marked_output'
UNTIL = "failed_start: net-once has reported"
CLOSE = "close_holes"
BAD = {"worker.trusted.after_failed_start": "connected"}
