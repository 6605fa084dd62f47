# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker that comes back by itself."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'Restart=always'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its Restart is "
