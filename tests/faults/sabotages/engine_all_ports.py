# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's client is a wrapper that publishes whatever a container exposes."""
LAYER = "engine"
DO = "client_gives --expose 8080 --publish-all"
REFUSED = ("candidate", "has devices or published ports")
