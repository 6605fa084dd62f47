# SPDX-License-Identifier: GPL-2.0-or-later
"""A redirection behind a jump and a verdict map, in a table that only seems to count."""
LAYER = "foreign"
DO = r"""nft 'table ip quiet {
	chain deep { meta mark set 1; }
	chain o { type filter hook output priority 10; counter; meta skuid vmap { 1 : jump deep }; };
}'"""
UNDO = "nft delete table ip quiet"
REFUSED = 'nf_tables ip quiet: "meta set" in chain deep'
