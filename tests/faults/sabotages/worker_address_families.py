# SPDX-License-Identifier: GPL-2.0-or-later
"""It may make no IPv6 sockets: a denial that is not the policy's."""
LAYER = "units"
WHEN = "preflight"
DO = "drop_in $WORKER 'RestrictAddressFamilies=AF_UNIX AF_INET'"
UNDO = "drop_out $WORKER"
PREFLIGHT_REFUSED = "its RestrictAddressFamilies is "
