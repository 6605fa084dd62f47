# SPDX-License-Identifier: GPL-2.0-or-later
"""A TUN device was made for the workload: what it sends there is forwarded."""
LAYER = "host"
DO = "ip tuntap add dev sabotage mode tun user $WORKLOAD"
UNDO = "ip link del sabotage"
REFUSED = "sabotage: a TUN device that the workload may attach to"
