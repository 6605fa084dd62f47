# SPDX-License-Identifier: GPL-2.0-or-later
"""A second process is put into the worker's cgroup, and has its window."""
LAYER = "units"
WHEN = "worker agent measured"
DO = """systemd-run --quiet --uid=$WORKLOAD --unit=second -- sleep 600
main=$(systemctl show -P MainPID second)
echo $main >/sys/fs/cgroup/system.slice/$WORKER/cgroup.procs"""
REFUSED = "a process that is not the agent"
