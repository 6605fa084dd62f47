# SPDX-License-Identifier: GPL-2.0-or-later
"""After the collection the host's other rules are others."""
LAYER = "evidence"
WHEN = "after"
DO = "nft 'table ip later { chain o { type filter hook output priority 0; tcp dport 9 drop; }; }'"
NOT_VERIFIED = "foreign"
