# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of the workload's is in a network of root's making, whose packets are forwarded and never sent."""
LAYER = "host"
DO = """ip netns add jail
ip link add jail0 type veth peer name in0 netns jail
ip link set jail0 up
ip -n jail link set in0 up
systemd-run --quiet --unit=holder --uid=$WORKLOAD -p NetworkNamespacePath=/run/netns/jail sleep 600"""
UNDO = """systemctl stop holder
ip netns del jail
ip link del jail0 2>/dev/null || :"""
REFUSED = ["in a network namespace of root's", "('in0')"]
