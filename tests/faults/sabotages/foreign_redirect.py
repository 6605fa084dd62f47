# SPDX-License-Identifier: GPL-2.0-or-later
"""A redirect before our chains: a forbidden port becomes an allowed one."""
LAYER = "foreign"
DO = "nft 'table ip evil { chain o { type nat hook output priority -100; tcp dport 443 redirect to :80; }; }'"
UNDO = "nft delete table ip evil"
REFUSED = 'nf_tables ip evil: "redir" in chain '
