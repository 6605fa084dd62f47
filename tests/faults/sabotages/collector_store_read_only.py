# SPDX-License-Identifier: GPL-2.0-or-later
"""The store has become read-only when the record is to be kept."""
LAYER = "collector"
WHEN = "executor agent measured"
DO = """mount --bind $STORE $STORE
mount -o remount,bind,ro $STORE"""
UNTOLD = "Read-only"
