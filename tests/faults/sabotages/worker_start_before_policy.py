# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic before the policy is loaded."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'ExecStartPre=' 'ExecStartPre=/bin/true' 'ExecStartPre=+/usr/lib/netproof/net-policy install --mode network_enforcement --site /etc/netproof/site.json'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "ExecStartPre is not that"
