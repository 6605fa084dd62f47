# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard's chain runs at another priority."""
LAYER = "policy"
DO = """forge_guard "s/priority raw - 10/priority raw + 10/"
"""
UNDO = "revoke"
REFUSED = ["differs", "chain output"]
