# SPDX-License-Identifier: GPL-2.0-or-later
"""The stop leaves the window open."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'ExecStopPost=' 'ExecStopPost=/usr/lib/netproof/net-probe net-once --plan /run/netproof-worker/plan.json --report /run/netproof-worker/agent/report.json --gate /run/netproof-worker/gate'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "ExecStopPost is not that"
