# SPDX-License-Identifier: GPL-2.0-or-later
"""A TUN device of others'; services of the workload's with a loopback alone, or a Unix socket; limits; a nicer worker."""
LAYER = "host"
WHEN = "preflight"
DO = r"""ip tuntap add dev others mode tun user root
ip link add jail0 type veth peer name jail1
systemd-run --quiet --unit=alone --uid=$WORKLOAD -p PrivateNetwork=yes sleep 600
printf "[Socket]\nListenStream=/run/quiet\n" >/etc/systemd/system/quiet.socket
printf "[Service]\nUser=$WORKLOAD\nExecStart=/bin/cat\n" >/etc/systemd/system/quiet.service
drop_in $WORKER Nice=5 MemoryMax=1G TasksMax=50 CPUWeight=50 LogLevelMax=info TimeoutStopFailureMode=abort
systemctl start quiet.socket
systemd-run --quiet --unit=binder --uid=$WORKLOAD -p AmbientCapabilities=CAP_NET_BIND_SERVICE sleep 600"""
