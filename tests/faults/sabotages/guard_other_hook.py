# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard looks at what arrives, not at what leaves."""
LAYER = "policy"
DO = """forge_guard "s/hook output priority raw - 10/hook input priority raw - 10/"
"""
UNDO = "revoke"
REFUSED = ["differs", "chain output"]
