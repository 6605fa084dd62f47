# SPDX-License-Identifier: GPL-2.0-or-later
"""It asks another resolver than everybody else."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'BindReadOnlyPaths=/etc/hostname:/etc/resolv.conf'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its BindReadOnlyPaths is "
