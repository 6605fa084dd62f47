# SPDX-License-Identifier: GPL-2.0-or-later
"""Translation appears after the window was open, before the stop."""
LAYER = "foreign"
WHEN = "stop_rollback"
DO = "nft 'table ip evil { chain o { type nat hook output priority -100; tcp dport 443 redirect to :80; }; }'"
REFUSED = 'nf_tables ip evil: "redir" in chain '
