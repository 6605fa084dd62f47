# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody's table comes during the collection: what was judged is not what was."""
LAYER = "evidence"
WHEN = "daemon agent measured"
DO = "nft 'table ip later { chain o { type filter hook output priority 0; }; }'"
REFUSED = "other rules changed during the collection"
