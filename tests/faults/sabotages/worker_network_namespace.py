# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker is in a namespace that no rule of ours reaches."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'NetworkNamespacePath=/proc/1/ns/net'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its NetworkNamespacePath is "
