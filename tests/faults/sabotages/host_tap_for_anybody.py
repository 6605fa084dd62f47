# SPDX-License-Identifier: GPL-2.0-or-later
"""A TAP device without an owner: anybody may attach to it."""
LAYER = "host"
DO = "ip tuntap add dev sabotage mode tap"
UNDO = "ip link del sabotage"
REFUSED = "sabotage: a TUN device that the workload may attach to"
