# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's client is a wrapper that gives each container a /tmp."""
LAYER = "engine"
DO = "client_gives --tmpfs /tmp"
REFUSED = ("candidate", "has not exactly one temporary file system")
