# SPDX-License-Identifier: GPL-2.0-or-later
"""A container is there already."""
LAYER = "engine"
UNDO = """su -s /bin/sh $WORKLOAD -c "docker --host unix://$SOCKET rm stray"
"""
REFUSED = "1 containers are there ('stray')"


def act(host):
    host.docker("create", "--name", "stray", host.release["candidate_image"]["id"], "/x")
