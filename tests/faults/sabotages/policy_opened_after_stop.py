# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody opens the guard again when the worker has stopped."""
LAYER = "policy"
WHEN = "net-once measured"
DO = "nft flush chain inet $TABLE output"
REFUSED = ["differs", "chain output: rule 1 is missing"]
