# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of the legacy ip_tables, which no nft listing shows."""
LAYER = "foreign"
DO = "iptables-legacy -t mangle -A OUTPUT -j MARK --set-mark 1"
UNDO = "iptables-legacy -t mangle -F; iptables-legacy -t mangle -X"
LAST = True
REFUSED = "legacy ip_tables mangle: 1 rules"
