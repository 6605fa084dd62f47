# SPDX-License-Identifier: GPL-2.0-or-later
"""It may use one interface only."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'RestrictNetworkInterfaces=eth0'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its RestrictNetworkInterfaces is "
