# SPDX-License-Identifier: GPL-2.0-or-later
"""No time for the probes."""
LAYER = "time"
DO = r"""edit $PROFILE 'd["expires_at_unix"] = d["issued_at_unix"] + 19'"""
UNDO = ":"
REFUSED = "a window of 19 s"
