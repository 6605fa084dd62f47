# SPDX-License-Identifier: GPL-2.0-or-later
"""A marking rule appears while the agents are at work."""
LAYER = "foreign"
WHEN = "candidate.router.connect"
DO = "nft 'table ip evil { chain o { type route hook output priority 0; meta mark set 1; }; }'"
REFUSED = 'nf_tables ip evil: "meta set" in chain '
