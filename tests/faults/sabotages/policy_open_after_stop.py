# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard has a hole while the stopped worker tries, and none whenever it is compared."""
LAYER = "policy"
WHEN = "stop_rollback: controls before net-once"
DO = 'open_holes "meta skuid $SUBJECT ip daddr 198.51.100.1 accept" output marked_output'
UNTIL = "stop_rollback: net-once has reported"
CLOSE = "close_holes"
BAD = {"worker.trusted.after_stop": "connected"}
