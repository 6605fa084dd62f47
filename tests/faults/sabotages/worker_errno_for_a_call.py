# SPDX-License-Identifier: GPL-2.0-or-later
"""One forbidden call fails instead of being killed for: connect(), as if the policy had denied."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER SystemCallFilter= 'SystemCallFilter=~connect:EHOSTUNREACH'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = ["its SystemCallFilter is ", "connect:EHOSTUNREACH"]
