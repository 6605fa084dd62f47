# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's client is a wrapper that publishes a port of each container."""
LAYER = "engine"
DO = "client_gives --publish 127.0.0.1::8080"
REFUSED = ("candidate", "has devices or published ports")
