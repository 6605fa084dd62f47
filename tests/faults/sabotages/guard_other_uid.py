# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard stands, for another uid."""
LAYER = "policy"
DO = r"""forge_guard "s/\b$SUBJECT\b/4242/g"
"""
UNDO = "revoke"
REFUSED = ["differs", "set subjects: element"]
