# SPDX-License-Identifier: GPL-2.0-or-later
"""A firewall upstream drops the public target, silently: the deny counter has to do."""
LAYER = "network"
WHEN = "preflight"
WORLD = """nft 'table ip up { chain p { type filter hook prerouting priority -300
    ip daddr 1.1.1.1 drop; }; }'"""
WINDOW = 60
BASIS = {id: "deny_counter" for id in ("candidate.public", "worker.public", "daemon.public",
                                       "daemon.subordinate", "daemon.public.after_stop",
                                       "daemon.public.after_expiry")}
