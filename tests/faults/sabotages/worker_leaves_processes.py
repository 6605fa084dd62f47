# SPDX-License-Identifier: GPL-2.0-or-later
"""A stop that kills nobody: the worker's children live on in its cgroup."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'KillMode=none'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its KillMode is "
