# SPDX-License-Identifier: GPL-2.0-or-later
"""What arrives at the device leaves through another, before any chain of ours."""
LAYER = "foreign"
DO = r"""nft 'table netdev evil { chain i { type filter hook ingress device "eth0" priority 0; ip saddr 198.51.100.1 fwd to "lo"; }; }'"""
UNDO = "nft delete table netdev evil"
REFUSED = 'nf_tables netdev evil: "fwd" in chain '
