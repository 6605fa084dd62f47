# SPDX-License-Identifier: GPL-2.0-or-later
"""A collection was refused before."""
LAYER = "collector"
WHEN = "preflight"


def act(host):
    host.prepare(22)
    host.sh("nft \'table ip evil { chain o { type filter hook output priority 0; notrack; }; }\'", check=False)
    host.collect()
    host.sh("nft delete table ip evil", check=False)
