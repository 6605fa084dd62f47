# SPDX-License-Identifier: GPL-2.0-or-later
"""Control commands run a level deeper than the rules look."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'Delegate=yes'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its Delegate is "
