# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker's unit is changed between its two starts."""
LAYER = "units"
WHEN = "stop_rollback"
DO = "drop_in $WORKER Nice=1"
REFUSED = "it was changed while the collection ran"
