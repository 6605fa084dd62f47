# SPDX-License-Identifier: GPL-2.0-or-later
"""Our flows' own mark, set by somebody else."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type filter hook output priority -400; ct mark set 0x12345; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "ct set" in chain '
