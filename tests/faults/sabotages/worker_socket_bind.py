# SPDX-License-Identifier: GPL-2.0-or-later
"""It may bind no socket."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'SocketBindDeny=any'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its SocketBindDeny is "
