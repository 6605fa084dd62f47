# SPDX-License-Identifier: GPL-2.0-or-later
"""It counts as active after its process has gone."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'RemainAfterExit=yes'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its RemainAfterExit is "
