# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's client is a wrapper that mounts the host's certificates into each container."""
LAYER = "engine"
DO = "client_gives --volume /etc/ssl:/etc/ssl:ro"
REFUSED = ("candidate", "has not exactly one mount")
