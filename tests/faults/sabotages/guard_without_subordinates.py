# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard names the uid and forgets the subordinate ranges."""
LAYER = "policy"
DO = """forge_guard "s/, $SUBORDINATE-[0-9]+//; s/$SUBORDINATE-[0-9]+, //"
"""
UNDO = "revoke"
REFUSED = ["differs", "set subjects differs"]
