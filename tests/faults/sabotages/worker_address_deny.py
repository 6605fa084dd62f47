# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd denies addresses: a denial that is not the policy's."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'IPAddressDeny=203.0.113.80'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its IPAddressDeny is "
