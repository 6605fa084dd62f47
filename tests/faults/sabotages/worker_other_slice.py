# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker is in another cgroup than the rules name."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'Slice=user.slice'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its Slice is "
