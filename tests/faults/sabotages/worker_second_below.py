# SPDX-License-Identifier: GPL-2.0-or-later
"""The same in a cgroup below the worker's, which the rules take for it."""
LAYER = "units"
WHEN = "worker agent measured"
DO = """systemd-run --quiet --uid=$WORKLOAD --unit=second -- sleep 600
main=$(systemctl show -P MainPID second)
mkdir /sys/fs/cgroup/system.slice/$WORKER/below
echo $main >/sys/fs/cgroup/system.slice/$WORKER/below/cgroup.procs"""
REFUSED = "a cgroup below the worker"
