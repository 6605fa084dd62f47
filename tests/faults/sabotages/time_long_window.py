# SPDX-License-Identifier: GPL-2.0-or-later
"""A window that is never seen to end."""
LAYER = "time"
DO = r"""edit $PROFILE 'd["expires_at_unix"] = d["issued_at_unix"] + 281'"""
UNDO = ":"
REFUSED = "a window of 281 s"
