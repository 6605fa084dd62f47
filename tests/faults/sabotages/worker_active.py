# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker runs already."""
LAYER = "units"
DO = "systemctl start $WORKER"
UNDO = "systemctl stop $WORKER"
REFUSED = "is active, not inactive"
