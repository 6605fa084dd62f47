# SPDX-License-Identifier: GPL-2.0-or-later
"""The guard's unit is active, and would load nothing at the next boot."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $GUARD ExecStart= ExecStart=/bin/true"
UNDO = "drop_out $GUARD"
PREFLIGHT_REFUSED = "ExecStart is not that"
