# SPDX-License-Identifier: GPL-2.0-or-later
"""A library is put into whatever it starts."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'Environment=LD_PRELOAD=/lib/x.so'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its Environment is "
