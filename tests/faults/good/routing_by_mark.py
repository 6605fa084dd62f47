# SPDX-License-Identifier: GPL-2.0-or-later
"""A VPN's routing rules, by a packet's mark: nothing here marks one."""
LAYER = "foreign"
WHEN = "preflight"
DO = """for ip in "ip -4" "ip -6"; do
	$ip rule add not fwmark 51820 lookup 51820
	$ip rule add lookup main suppress_prefixlength 0
	$ip rule add fwmark 0x100/0xff00 lookup 77
done
ip route add unreachable default table 77
ip -4 route add default via 192.168.77.1 table 51820
ip -6 route add default via fd77::1 table 51820"""
