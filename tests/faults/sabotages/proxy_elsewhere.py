# SPDX-License-Identifier: GPL-2.0-or-later
"""The reviewed proxy runs, and another process has its endpoint."""
LAYER = "units"
DO = """drop_in $PROXY ExecStart= "ExecStart=$LIB/net-proxy $PROXY_ADDRESS 3999"
systemctl restart $PROXY
systemd-run --quiet --unit=other -- $LIB/net-proxy $PROXY_ADDRESS $PROXY_PORT
until ss -Hltn "sport = :$PROXY_PORT" | grep -q .; do sleep 0.05; done"""
UNDO = """systemctl stop other
drop_out $PROXY
systemctl restart $PROXY"""
REFUSED = "another process listens"
