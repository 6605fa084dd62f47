# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic control with classes on the device: what leaves may be sorted, held and sent elsewhere."""
LAYER = "foreign"
DO = "tc qdisc add dev eth0 root handle 7: htb"
UNDO = "tc qdisc del dev eth0 root"
REFUSED = "traffic control htb on eth0"
