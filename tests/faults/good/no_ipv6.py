# SPDX-License-Identifier: GPL-2.0-or-later
"""A host without IPv6."""
LAYER = "network"
HOST = {"lab_options": ("--no-ipv6",)}
