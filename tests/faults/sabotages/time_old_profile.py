# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile issued more than a minute ago."""
LAYER = "time"
DO = r"""edit $PROFILE 'd["issued_at_unix"] -= 61; d["expires_at_unix"] = d["issued_at_unix"] + 100'"""
UNDO = ":"
REFUSED = "more than 60"
