# SPDX-License-Identifier: GPL-2.0-or-later
"""A crashed collection was never cleaned up."""
LAYER = "collector"
DO = "mkdir -p -m 700 /var/lib/netproof-collector; printf x >/var/lib/netproof-collector/journal"
UNDO = "rm /var/lib/netproof-collector/journal"
REFUSED = "net-collector recover"
