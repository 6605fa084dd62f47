# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile from the future."""
LAYER = "time"
DO = r"""edit $PROFILE 'd["issued_at_unix"] += 100; d["expires_at_unix"] += 100'"""
UNDO = ":"
REFUSED = "future"
