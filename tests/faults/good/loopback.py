# SPDX-License-Identifier: GPL-2.0-or-later
"""Loopback granted."""
LAYER = "policy"
PROFILE = {"trusted_loopback_tcp": True}
