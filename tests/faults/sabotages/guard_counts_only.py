# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard counts and rejects nothing."""
LAYER = "policy"
DO = """forge_guard "s/reject with icmpx.*//"
"""
UNDO = "revoke"
REFUSED = ["differs", "chain marked_output: rule 1 differs"]
