# SPDX-License-Identifier: GPL-2.0-or-later
"""A router on the host sees the host's address alone."""
LAYER = "host"
HOST = {"router_namespace": "host"}
BAD = {"candidate.router.source": "host_address"}
