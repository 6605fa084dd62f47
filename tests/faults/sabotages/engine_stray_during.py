# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody runs a container with a published port beside the collection."""
LAYER = "engine"
WHEN = "executor agent measured"
UNTIL = "keeping the record"
CLOSE = """su -s /bin/sh $WORKLOAD -c "docker --host unix://$SOCKET rm --force stray"
"""
RESIDUE = {"containers": 1}
LEAVES = "whose container it was is not known: the journal stays for 'net-collector recover'"


def act(host):
    host.docker("run", "--detach", "--interactive", "--name", "stray", "--publish",
                "127.0.0.1::8080", "--volume", f"{host.program('net-probe')}:/net-probe:ro",
                "--entrypoint", "/net-probe", host.release["candidate_image"]["id"], "net-agent")
