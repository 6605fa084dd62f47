# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard rejects once a second, and lets the rest go."""
LAYER = "policy"
DO = r"""forge_guard "s/(skuid [^ ]+ )counter/\\1limit rate 1\/second counter/"
"""
UNDO = "revoke"
REFUSED = ["differs", "chain marked_output: rule 1 differs"]
