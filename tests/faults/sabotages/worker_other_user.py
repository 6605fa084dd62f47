# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker runs as somebody else."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'User=nobody'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its User is "
