# SPDX-License-Identifier: GPL-2.0-or-later
"""The window has passed."""
LAYER = "time"
DO = r"""edit $PROFILE 'd["issued_at_unix"] -= 40; d["expires_at_unix"] = d["issued_at_unix"] + 30'"""
UNDO = ":"
REFUSED = "passed"
