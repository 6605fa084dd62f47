# SPDX-License-Identifier: GPL-2.0-or-later
"""Any process of the workload user may trace it."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'Group=nogroup'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its Group is "
