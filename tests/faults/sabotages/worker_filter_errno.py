# SPDX-License-Identifier: GPL-2.0-or-later
"""A forbidden system call fails, and looks like a denial."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'SystemCallErrorNumber=EPERM'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its SystemCallErrorNumber is "
