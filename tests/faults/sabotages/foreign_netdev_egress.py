# SPDX-License-Identifier: GPL-2.0-or-later
"""At the device, after every chain of ours, packets go elsewhere."""
LAYER = "foreign"
DO = r"""nft 'table netdev evil { chain e { type filter hook egress device "eth0" priority 0; ip daddr 203.0.113.80 ip daddr set 198.51.100.1; }; }'"""
UNDO = "nft delete table netdev evil"
REFUSED = 'nf_tables netdev evil: "payload set" in chain '
