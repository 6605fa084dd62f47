# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of the workload's has a capability, with which packets could pass beside every rule."""
LAYER = "host"
DO = "systemd-run --quiet --unit=holder --uid=$WORKLOAD -p AmbientCapabilities=CAP_NET_RAW sleep 600"
UNDO = "systemctl stop holder"
REFUSED = "has capabilities (2000)"
