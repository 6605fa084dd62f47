# SPDX-License-Identifier: GPL-2.0-or-later
"""A TUN device of others', a service of the workload's with a loopback alone, limits and a nicer worker."""
LAYER = "host"
WHEN = "preflight"
DO = """ip tuntap add dev others mode tun user root
ip link add jail0 type veth peer name jail1
systemd-run --quiet --unit=alone --uid=$WORKLOAD -p PrivateNetwork=yes sleep 600
drop_in $WORKER Nice=5 MemoryMax=1G TasksMax=50 CPUWeight=50 LogLevelMax=info TimeoutStopFailureMode=abort"""
