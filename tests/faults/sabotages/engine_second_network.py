# SPDX-License-Identifier: GPL-2.0-or-later
"""The candidate is put on a second network while its probes run."""
LAYER = "engine"
WHEN = "candidate.router.connect"
REFUSED = "is on another network"


def act(host):
    name = host.docker("ps", "--format", "{{.Names}}").stdout.split()
    candidate, = [n for n in name if n.endswith("candidate")]
    host.docker("network", "connect", "bridge", candidate)
