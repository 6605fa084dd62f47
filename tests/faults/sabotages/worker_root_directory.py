# SPDX-License-Identifier: GPL-2.0-or-later
"""It sees another file system."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'RootDirectory=/srv'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its RootDirectory is "
