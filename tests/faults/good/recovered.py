# SPDX-License-Identifier: GPL-2.0-or-later
"""A collection was killed before, and recovered."""
LAYER = "collector"
WHEN = "preflight"


def act(host):
    host.prepare(22)
    host.sh("""$LIB/net-collector network --config $ETC/collection.json --confirm \
        "COLLECT NATIVE NETWORK ENFORCEMENT EVIDENCE" --progress json 2>/run/told &
until grep -q "executor agent measured" /run/told; do sleep 0.1; done
kill -9 $!
wait $! || :
$LIB/net-collector recover""")
