# SPDX-License-Identifier: GPL-2.0-or-later
"""A network of a job's is there already."""
LAYER = "engine"
UNDO = """su -s /bin/sh $WORKLOAD -c "docker --host unix://$SOCKET network rm stray"
"""
REFUSED = "1 networks of jobs are there ('stray')"


def act(host):
    host.docker("network", "create", "stray")
