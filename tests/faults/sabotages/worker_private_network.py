# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker has a network of its own."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'PrivateNetwork=yes'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its PrivateNetwork is "
