# SPDX-License-Identifier: GPL-2.0-or-later
"""A usual host firewall, a counting table and ten thousand addresses."""
LAYER = "foreign"
WHEN = "preflight"


def act(host):
    host.sh("""nft 'table inet firewall { chain i { type filter hook input priority 0
        ct state established,related accept
        tcp dport 22 counter accept
        log prefix "in " limit rate 5/minute; }; }'
{ echo 'table ip bans { set a { type ipv4_addr; flags interval; elements = {'
seq -f '100.64.%g.0/25,' 0 255
echo '} }; chain i { type filter hook input priority 5; ip saddr @a drop; }; }'; } >/run/bans
nft -f /run/bans""")
